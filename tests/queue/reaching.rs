//! How far a ledger was seen to reach: only ever raised, and each ledger for itself.

use super::on;
use super::support::redis::Redis;
use tender::domain::memory::Mark;
use tender::queue::Queue;

fn mark(epoch: i64, line: i64) -> Mark {
    Mark { epoch, line }
}

async fn conform(queue: &Queue) {
    let steps = [
        (mark(0, 7), mark(0, 7)),
        (mark(0, 5), mark(0, 7)),
        (mark(0, 12), mark(0, 12)),
        (mark(2, 1), mark(2, 1)),
        (mark(1, 900), mark(2, 1)),
        (mark(2, 10_000_000_000), mark(2, 10_000_000_000)),
        (mark(2, 9_999_999_999), mark(2, 10_000_000_000)),
    ];
    for (seen, highest) in steps {
        assert_eq!(
            queue.reached("one", seen).await.unwrap(),
            highest,
            "{seen:?}"
        );
    }
    assert_eq!(
        queue.reached("other", mark(0, 1)).await.unwrap(),
        mark(0, 1)
    );
}

#[tokio::test]
async fn the_mark_within_a_process() {
    conform(&Queue::memory()).await;
}

#[tokio::test]
async fn the_mark_on_redis_outlives_the_process_and_nothing_put_in_its_place_is_believed() {
    let server = Redis::start();
    conform(&on(&server).await).await;
    let later = on(&server).await;
    let highest = mark(2, 10_000_000_000);
    assert_eq!(later.reached("one", mark(0, 0)).await.unwrap(), highest);
    for nonsense in ["", "x", "7", "7:", "-1:3", "1:2:3"] {
        let set = redis::cmd("SET")
            .arg("tender:reached:one")
            .arg(nonsense)
            .to_owned();
        server.ask::<()>(&set);
        assert_eq!(
            later.reached("one", mark(1, 1)).await.unwrap(),
            mark(1, 1),
            "{nonsense}"
        );
    }
    // Losing it is nothing but that.
    server.flushall();
    assert_eq!(later.reached("one", mark(0, 3)).await.unwrap(), mark(0, 3));
}
