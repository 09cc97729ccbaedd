"""Pays invoices from Python, each within the transaction that books it.

pip install 'psycopg[binary]'    # or Debian's python3-psycopg
DATABASE_URL=postgres://... python3 outbox.py
"""

import json
import os

import psycopg


def book(connection, number, good):
    payment = {
        "operation": {
            "type": "payment",
            "destination": "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
            "asset": "native",
            "amount": "12.5000000",
        }
    }
    with connection.transaction():
        connection.execute("INSERT INTO invoice VALUES (%s)", (number,))
        connection.execute(
            "INSERT INTO outbox (tenant, idempotency_key, payload) VALUES (%s, %s, %s)",
            ("shop", f"invoice-{number}", json.dumps(payment)),
        )
        if not good:
            raise psycopg.Rollback


with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS invoice (number integer PRIMARY KEY)")
    book(connection, 21, good=False)  # rolled back and never paid
    book(connection, 22, good=True)  # committed and paid once
