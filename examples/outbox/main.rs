//! Pays invoices from Rust, each within the transaction that books it.
//!
//! `cargo run --example outbox -- "$DATABASE_URL"`

use std::error::Error;

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, TransactionTrait};
use serde_json::json;
use tender::outbox;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("which database?")?;
    demonstrate(&url).await
}

/// Invoice 1 is rolled back and never paid; invoice 2 is committed and paid once.
///
/// # Errors
/// The database's, or what is wrong with the payment.
pub async fn demonstrate(url: &str) -> Result<(), Box<dyn Error>> {
    let db = Database::connect(url).await?;
    db.execute_unprepared("CREATE TABLE IF NOT EXISTS invoice (number INTEGER PRIMARY KEY)")
        .await?;
    book(&db, 1, false).await?;
    book(&db, 2, true).await
}

async fn book(db: &DatabaseConnection, number: u32, good: bool) -> Result<(), Box<dyn Error>> {
    let tx = db.begin().await?;
    tx.execute_unprepared(&format!("INSERT INTO invoice VALUES ({number})"))
        .await?;
    let key = format!("invoice-{number}");
    let payment = json!({
        "business_ref": key,
        "operation": {
            "type": "payment",
            "destination": "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
            "asset": "native",
            "amount": "12.5000000",
        },
    });
    outbox::enqueue(&tx, "shop", key.as_str(), &payment).await?;
    if good {
        tx.commit().await?;
    } else {
        tx.rollback().await?;
    }
    Ok(())
}
