-- Pays invoices from plain SQL, each within the transaction that books it.
-- psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f outbox.sql

CREATE TABLE IF NOT EXISTS invoice (number integer PRIMARY KEY);

-- Invoice 11 is rolled back and never paid.
BEGIN;
INSERT INTO invoice VALUES (11);
INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ('shop', 'invoice-11', jsonb_build_object(
    'operation', jsonb_build_object(
        'type', 'payment',
        'destination', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
        'asset', 'native',
        'amount', '12.5000000')));
ROLLBACK;

-- Invoice 12 is committed and paid once.
BEGIN;
INSERT INTO invoice VALUES (12);
INSERT INTO outbox (tenant, idempotency_key, payload) VALUES ('shop', 'invoice-12', jsonb_build_object(
    'operation', jsonb_build_object(
        'type', 'payment',
        'destination', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
        'asset', 'native',
        'amount', '12.5000000')));
COMMIT;
