//! The simulated network of the stack.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tender_devnet::config::NetworkConfig;
use tender_devnet::node::{DevNode, Pace};

use super::{EmbeddedError, PASSPHRASE};
use crate::app::StartError;
use crate::domain::ids::AccountId;
use crate::role::loops::Loops;
use crate::role::probes::listen;

/// Starts it as one of the parts; also tells where its JSON-RPC listens.
pub(super) async fn start(
    close: Duration,
    loops: &mut Loops,
) -> Result<(DevNode, String), StartError> {
    let node = DevNode::start(NetworkConfig::development(PASSPHRASE), Pace::Every(close));
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (listener, url) = listen("simulated network", loopback).await?;
    let (serving, stop) = (node.clone(), loops.stop_token());
    loops.serve("network", async move {
        let served = tender_devnet::rpc::serve(serving, listener, stop.cancelled_owned()).await;
        served.map_err(|error| StartError::io("simulated network", error))
    });
    Ok((node, url))
}

/// Lets the friendbot create an account.
pub(super) async fn fund(node: &DevNode, account: AccountId) -> Result<(), EmbeddedError> {
    let funded = node.fund(&account.to_string()).await;
    funded
        .map(drop)
        .map_err(|error| EmbeddedError::Devnet(error.to_string()))
}
