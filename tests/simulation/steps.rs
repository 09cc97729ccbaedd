//! Carrying a step out.

use serde_json::json;
use tender::domain::ids::{AccountId, Pair, SubmissionId};
use tender::domain::key::KeyTag;
use tender::domain::operation::{Asset, Operation};
use tender::flow::{requeue, withdraw};
use tender::stellar::envelope::{Recipe, build};
use tender::stellar::signer::Signer;
use tender_devnet::faults::{CloseFault, FaultPlan, Rule, When};
use tender_devnet::rpc::FrontEnd;

use crate::fate::Mood;
use crate::net::{channel, creating, payee, paying, stranger};
use crate::promises::Broken;
use crate::schedule::Step;
use crate::world::World;

/// Keys of others in the network.
const PAYEE: [u8; 32] = [3; 32];
const ISSUER: [u8; 32] = [4; 32];

impl World {
    /// Carries it out, and looks at everything.
    pub async fn carry_out(&mut self, step: Step) -> Result<(), Broken> {
        self.step += 1;
        let told = match &step {
            Step::Submit { process, .. }
            | Step::Pass { process }
            | Step::LookUpLate { process } => {
                let mood = self.mood();
                self.processes[*process].in_step(self.step, mood);
                self.begin(&step);
                self.go_on(*process).await?
            }
            Step::LetGo { process, deliver } => {
                self.processes[*process].in_step(self.step, Mood::CALM);
                self.processes[*process].let_go(*deliver);
                self.go_on(*process).await?
            }
            Step::Crash { process } => {
                let under_way = self.processes[*process].crash(&self.site).await;
                self.wandering.extend(under_way);
                String::new()
            }
            Step::Accept(at) => {
                let told = self.keys[*at].accept(&self.site.ledger).await;
                format!("{told}: {}", self.keys[*at].asks())
            }
            Step::ClaimAndDie { key } => {
                let (ledger, id) = (&self.site.ledger, self.id(key));
                let claimed = match &self.site.shared {
                    Some(shared) => shared.claim(ledger, id).await,
                    None => ledger.claim(id).await.map(drop),
                };
                claimed.map_err(|error| error.to_string())?;
                String::new()
            }
            Step::Arrive => {
                let at = self.chance.below(self.wandering.len() as u64);
                let request = self.wandering.swap_remove(usize::try_from(at).unwrap());
                self.arrive(&request)
            }
            Step::Close { after_s } => {
                let at = self.closed_at() + after_s;
                self.site.node.close_ledger_at(at);
                String::new()
            }
            Step::Weather { surge } => self.change_weather(*surge),
            Step::Cancel(key) => self.withdraw(key).await?,
            Step::Requeue(key) => self.run_again(key).await?,
            Step::Foreign { channel } => self.use_sequence(*channel).await,
            Step::Found => self.found().await,
        };
        self.look(&format!("{step:?}: {told}")).await
    }

    fn mood(&mut self) -> Mood {
        if self.calm {
            return Mood::CALM;
        }
        if let Some(mood) = self.told_mood.take() {
            return mood;
        }
        self.leaning.mood(&mut self.chance)
    }

    fn begin(&mut self, step: &Step) {
        match step {
            Step::Submit { process, key } => {
                let id = self.id(key);
                self.processes[*process].forget_the_past(&self.site.node);
                self.processes[*process].submit(id);
            }
            Step::Pass { process } => self.processes[*process].pass(),
            Step::LookUpLate { process } => self.processes[*process].look_up_late(),
            other => panic!("nothing that a process does: {other:?}"),
        }
    }

    async fn go_on(&mut self, process: usize) -> Result<String, Broken> {
        match self.settle(process).await {
            None => Ok("goes on later".to_owned()),
            Some(done) => match done.corrupt {
                None => Ok(done.told),
                Some(why) => Err(format!("the ledger refuses: {why}")),
            },
        }
    }

    pub fn id(&self, key: &str) -> SubmissionId {
        let mut keys = self.keys.iter();
        keys.find(|one| one.name == key).unwrap().id.unwrap()
    }

    pub fn arrive(&self, request: &[u8]) -> String {
        let reply = FrontEnd::new(self.site.node.clone()).reply(request, None);
        format!("{:?}", reply.body).chars().take(120).collect()
    }

    fn change_weather(&mut self, surge: bool) -> String {
        let ledgers = u32::try_from(self.chance.between(1, 4)).unwrap();
        let fault = if surge {
            CloseFault::FeeSurge {
                min_bid: *self.chance.pick(&[110, 200, 900]),
                ledgers: ledgers + 1,
                queue_full: self.chance.permille(800),
            }
        } else {
            match self.chance.below(3) {
                0 => CloseFault::Empty { ledgers },
                1 => CloseFault::Stall { intervals: ledgers },
                _ => CloseFault::Skew {
                    seconds: i32::try_from(self.chance.below(60)).unwrap() - 30,
                    ledgers,
                },
            }
        };
        let rules = vec![Rule::close(fault, When::Nth(1))];
        let plan = FaultPlan::ruled(0, rules).unwrap();
        self.site.node.set_faults(plan);
        format!("{fault:?}")
    }

    async fn withdraw(&self, key: &str) -> Result<String, Broken> {
        let reason = "no longer wanted".parse().unwrap();
        let cancelled = withdraw::cancel(&self.site.ledger, self.id(key), &reason, "caller");
        let cancelled = cancelled.await.map_err(|error| error.to_string())?;
        Ok(first_word(&format!("{cancelled:?}")))
    }

    async fn run_again(&self, key: &str) -> Result<String, Broken> {
        let reason = "once more".parse().unwrap();
        let requeued = requeue::requeue(&self.site.ledger, self.id(key), &reason, "staff");
        let requeued = requeued.await.map_err(|error| error.to_string())?;
        Ok(first_word(&format!("{requeued:?}")))
    }

    /// The sequence that the account's next transaction takes.
    pub fn next_sequence(&self, account: AccountId) -> i64 {
        let key = stellar_xdr::LedgerKey::Account(stellar_xdr::LedgerKeyAccount {
            account_id: stellar_xdr::AccountId(stellar_xdr::PublicKey::PublicKeyTypeEd25519(
                stellar_xdr::Uint256(account.0),
            )),
        });
        self.site
            .node
            .inspect(|network| match &network.entry(&key).unwrap().data {
                stellar_xdr::LedgerEntryData::Account(account) => account.seq_num.0 + 1,
                other => panic!("an account: {other:?}"),
            })
    }

    /// Somebody pays with a channel account's next sequence.
    async fn use_sequence(&self, number: u8) -> String {
        let operation = paying(Asset::Native, payee(), "1");
        self.send_of_others(&channel(number), &operation).await
    }

    /// Somebody makes the account that payments to failed for want of.
    async fn found(&self) -> String {
        let operation = creating(stranger(), "5", None);
        self.send_of_others(&Signer::from_seed(&PAYEE), &operation)
            .await
    }

    async fn send_of_others(&self, source: &Signer, operation: &Operation) -> String {
        let recipe = Recipe {
            network: &self.site.network,
            pair: Pair {
                account: source.account(),
                sequence: self.next_sequence(source.account()),
            },
            channel: source,
            treasury: &Signer::from_seed(&ISSUER),
            operation,
            tag: KeyTag(7),
            fee: 1_000,
            max_time: self.closed_at() + 60,
        };
        let envelope = build(recipe).await.unwrap();
        let params = json!({ "transaction": envelope.xdr });
        let answer = self.site.node.call("sendTransaction", params).unwrap();
        answer["status"].to_string()
    }
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|one| one.is_alphabetic()).collect()
}
