//! Filters of `getEvents`.

use super::error::RpcError;
use super::params::decode;
use serde::Deserialize;
use stellar_xdr::{ContractEvent, ContractEventBody, ContractEventType, ContractId, Hash, ScVal};

const MAX_FILTERS: usize = 5;
const MAX_CONTRACT_IDS: usize = 5;
const MAX_TOPICS: usize = 5;
const MAX_SEGMENTS: usize = 4;
const MAX_SEGMENT_BYTES: usize = 16 * 1024;

/// A filter as a request gives it.
#[derive(Default, Deserialize)]
pub struct FilterParams {
    #[serde(rename = "type")]
    types: Option<String>,
    #[serde(rename = "contractIds")]
    contract_ids: Option<Vec<String>>,
    topics: Option<Vec<Vec<String>>>,
}

/// A filter that is well formed: everything given must match; of a list, one.
#[derive(Debug)]
pub struct EventFilter {
    types: Vec<ContractEventType>,
    contract_ids: Vec<ContractId>,
    topics: Vec<TopicFilter>,
}

#[derive(Debug)]
struct TopicFilter {
    segments: Vec<Segment>,
    /// Ended with `**`: more topics may follow.
    open_ended: bool,
}

#[derive(Debug)]
enum Segment {
    Any,
    Exactly(Box<ScVal>),
}

/// Reads all filters of a request.
pub fn read_filters(filters: Vec<FilterParams>) -> Result<Vec<EventFilter>, RpcError> {
    if filters.len() > MAX_FILTERS {
        return Err(RpcError::invalid_params("maximum 5 filters per request"));
    }
    filters
        .into_iter()
        .zip(1..)
        .map(|(filter, number)| {
            EventFilter::read(filter).map_err(|reason| {
                RpcError::invalid_params(format!("filter {number} invalid: {reason}"))
            })
        })
        .collect()
}

/// Whether an event matches one of the filters; without filters every event does.
pub fn matches(filters: &[EventFilter], event: &ContractEvent) -> bool {
    filters.is_empty() || filters.iter().any(|filter| filter.matches(event))
}

impl EventFilter {
    fn read(params: FilterParams) -> Result<Self, String> {
        let contract_ids = params.contract_ids.unwrap_or_default();
        if contract_ids.len() > MAX_CONTRACT_IDS {
            return Err("maximum 5 contract IDs per filter".into());
        }
        let topics = params.topics.unwrap_or_default();
        if topics.len() > MAX_TOPICS {
            return Err("maximum 5 topics per filter".into());
        }
        Ok(Self {
            types: read_types(params.types.as_deref().unwrap_or(""))?,
            contract_ids: contract_ids
                .iter()
                .zip(1..)
                .map(|(id, number)| {
                    stellar_strkey::Contract::from_string(id)
                        .map(|contract| ContractId(Hash(contract.0)))
                        .map_err(|_| format!("contract ID {number} invalid"))
                })
                .collect::<Result<_, _>>()?,
            topics: topics
                .into_iter()
                .zip(1..)
                .map(|(topic, number)| {
                    TopicFilter::read(topic)
                        .map_err(|reason| format!("topic {number} invalid: {reason}"))
                })
                .collect::<Result<_, _>>()?,
        })
    }

    fn matches(&self, event: &ContractEvent) -> bool {
        (self.types.is_empty() || self.types.contains(&event.type_))
            && (self.contract_ids.is_empty()
                || event
                    .contract_id
                    .as_ref()
                    .is_some_and(|id| self.contract_ids.contains(id)))
            && (self.topics.is_empty()
                || self
                    .topics
                    .iter()
                    .any(|topic| topic.matches(topics_of(event))))
    }
}

fn topics_of(event: &ContractEvent) -> &[ScVal] {
    let ContractEventBody::V0(body) = &event.body;
    &body.topics
}

/// Types are given in one text with commas between them; none means all.
fn read_types(text: &str) -> Result<Vec<ContractEventType>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|name| match name {
            "contract" => Ok(ContractEventType::Contract),
            "system" => Ok(ContractEventType::System),
            _ => Err(
                "filter type invalid: if set, type must be either 'system' or 'contract'".into(),
            ),
        })
        .collect()
}

impl TopicFilter {
    fn read(mut segments: Vec<String>) -> Result<Self, String> {
        if segments.is_empty() {
            return Err("topic must have at least 1 segment".into());
        }
        let open_ended = segments.last().is_some_and(|last| last == "**");
        if open_ended {
            segments.pop();
        }
        if segments.len() > MAX_SEGMENTS {
            return Err("topic cannot have more than 4 segments".into());
        }
        let segments = segments
            .iter()
            .zip(1..)
            .map(|(text, number)| match text.as_str() {
                "*" => Ok(Segment::Any),
                "**" => Err(format!(
                    "segment {number} invalid: wildcard '**' is only allowed as the last segment"
                )),
                _ => decode(text, MAX_SEGMENT_BYTES)
                    .map(|value| Segment::Exactly(Box::new(value)))
                    .ok_or_else(|| {
                        format!("segment {number} invalid: neither a wildcard nor a base64 ScVal")
                    }),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            segments,
            open_ended,
        })
    }

    fn matches(&self, topics: &[ScVal]) -> bool {
        let length_fits = if self.open_ended {
            topics.len() >= self.segments.len()
        } else {
            topics.len() == self.segments.len()
        };
        length_fits
            && self
                .segments
                .iter()
                .zip(topics)
                .all(|(segment, topic)| match segment {
                    Segment::Any => true,
                    Segment::Exactly(value) => **value == *topic,
                })
    }
}
