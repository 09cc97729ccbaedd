// Pays invoices from Node, each within the transaction that books it.
//
// npm install pg
// DATABASE_URL=postgres://... node outbox.mjs

import pg from "pg";

async function book(client, number, good) {
  const payment = {
    operation: {
      type: "payment",
      destination: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
      asset: "native",
      amount: "12.5000000",
    },
  };
  await client.query("BEGIN");
  try {
    await client.query("INSERT INTO invoice VALUES ($1)", [number]);
    await client.query(
      "INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ($1, $2, $3)",
      ["shop", `invoice-${number}`, JSON.stringify(payment)],
    );
    await client.query(good ? "COMMIT" : "ROLLBACK");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
try {
  await client.query("CREATE TABLE IF NOT EXISTS invoice (number integer PRIMARY KEY)");
  await book(client, 31, false); // rolled back and never paid
  await book(client, 32, true); // committed and paid once
} finally {
  await client.end();
}
