//! The probes of a role that serves nothing else.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::loops::Loops;
use crate::app::StartError;
use crate::http::{self, Probed};

/// Serves them, if there is an address to serve them at.
pub(super) async fn serve(
    bind: Option<SocketAddr>,
    probed: Probed,
    loops: &mut Loops,
) -> Result<(), StartError> {
    let Some(bind) = bind else {
        return Ok(());
    };
    let (listener, _) = listen("probes", bind).await?;
    let stop = loops.stop_token();
    loops.serve("probes", async move {
        let served = http::serve_probes(probed, listener, stop).await;
        served.map_err(|error| StartError::io("HTTP", error))
    });
    Ok(())
}

/// Opens a port; also tells its URL.
///
/// # Errors
/// It is taken, or not ours to open.
pub(super) async fn listen(
    what: &'static str,
    bind: SocketAddr,
) -> Result<(TcpListener, String), StartError> {
    let opened = async {
        let listener = TcpListener::bind(bind).await?;
        let address = listener.local_addr()?;
        Ok::<_, std::io::Error>((listener, address))
    };
    match opened.await {
        Ok((listener, address)) => {
            tracing::info!(%address, "{what} is listening");
            Ok((listener, format!("http://{address}")))
        }
        Err(error) => Err(StartError::io(format!("port {bind}"), error)),
    }
}
