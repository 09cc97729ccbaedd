//! Settings, read once at start from the environment and `.env`. Every fault is reported at once, and no secret is ever shown.
//!
//! Each role has a struct of exactly what it needs, so that it fails at start over that alone, and never holds a key it does not use.

mod database;
mod fault;
mod fees;
mod http;
mod log;
mod probe;
mod queue;
mod reader;
mod redis;
mod reference;
pub mod registry;
mod relay;
mod role;
mod rpc;
mod secret;
mod setting;
mod show;
mod signers;
mod source;
mod submit;
mod unknown;

pub use database::{Backend, Database};
pub use fault::{Fault, Faults};
pub use fees::Fees;
pub use http::{Cors, Http};
pub use log::{Log, LogFormat};
pub use queue::Queue;
pub use reader::{Effective, Origin};
pub use redis::Redis;
pub use reference::{env_example, settings_table};
pub use relay::Relay;
pub use role::{
    ApiConfig, ChannelsConfig, EmbeddedConfig, ReconcilerConfig, Role, StoreConfig, WorkerConfig,
    check,
};
pub use rpc::{Network, NodeUrl, Rpc};
pub use secret::{ChannelSeed, SigningSecret};
pub use setting::{Exposure, Presence, Setting, Shape};
pub use signers::{ChannelKeys, SequenceStrategy, Signers, TreasuryName};
pub use source::Source;
pub use submit::Submit;
