//! What holds in every life of a turn, whatever happens and in whatever order.

use bytestring::ByteString;
use handback::tools::{Choice, Offer};
use handback::turn::{
    Action, Answered, ArgumentPolicy, Input, Limits, Millis, Say, Setup, Snapshot, Turn,
};
use handback::wire::Raw;
use handback::wire::raw::is_object;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::history::is_paired;
use super::sequences::{EXTERNAL, Event, INTERNAL, event, setup};
use super::values::cases;
use super::world::World;

type Checked = Result<(), TestCaseError>;

/// Looks at one step: the turn before, the input if it is not the opening, the actions, the turn
/// after.
type Step<'a> = dyn FnMut(&Turn, Option<&Input>, &[Action], &Turn) -> Checked + 'a;

/// What has been seen of a turn, to hold the next step against.
struct Witness {
    limits: Limits,
    policy: ArgumentPolicy,
    forced: bool,
    no_tools: bool,
    asked: u32,
    returned: u32,
    service_calls: u32,
    /// Ids of calls that services ran.
    hidden: Vec<ByteString>,
    /// Ids of calls that were handed back.
    handed_back: Vec<ByteString>,
    /// Calls of this answer that are passed on in pieces: id, name, escaped arguments.
    begun: Vec<(ByteString, ByteString, String)>,
    opened: bool,
}

impl Witness {
    fn new(setup: &Setup) -> Witness {
        Witness {
            limits: setup.limits.clone(),
            policy: setup.arguments,
            forced: matches!(setup.choice, Choice::Forced(_)),
            no_tools: setup.choice == Choice::NoTools,
            asked: 0,
            returned: 0,
            service_calls: 0,
            hidden: Vec::new(),
            handed_back: Vec::new(),
            begun: Vec::new(),
            opened: false,
        }
    }

    /// Checks one step: what was asked for, and how the turn stands now.
    fn check(
        &mut self,
        before: &Turn,
        input: Option<&Input>,
        actions: &[Action],
        after: &Turn,
    ) -> Checked {
        if let (Turn::HandedBack(_), Some(Input::CallerReturned { now, .. })) = (before, input)
            && !matches!(after, Turn::HandedBack(_))
        {
            self.returned += 1;
            self.opened = false;
            self.begun.clear();
            let time = u64::try_from(self.limits.turn_time.as_millis()).unwrap_or(u64::MAX);
            prop_assert_eq!(after.deadline(), Some(Millis(now.0 + time)));
        }
        for (nth, action) in actions.iter().enumerate() {
            let last = nth + 1 == actions.len();
            match action {
                Action::Answer(answered) => self.answered(answered, after, last)?,
                Action::AskModel(ask) => {
                    // A request that takes another's place is of the same round.
                    let again = matches!(input, Some(Input::AskedAgain { .. }));
                    self.asked += u32::from(!again);
                    prop_assert_eq!((ask.round, after.rounds()), (self.asked, self.asked));
                    let bound = self.limits.rounds + 2 + self.limits.repairs + self.returned;
                    prop_assert!(self.asked <= bound, "{} rounds", self.asked);
                    prop_assert_eq!(ask.choice.is_some(), self.forced && self.asked == 1);
                    prop_assert_eq!(ask.offer == Offer::Nothing, self.no_tools);
                    prop_assert!(is_paired(after.messages()), "{:?}", after.messages());
                    prop_assert!(last && matches!(after, Turn::Asking(_)));
                }
                Action::CallService(service) => {
                    self.service_calls += 1;
                    prop_assert!(self.service_calls <= self.limits.service_calls);
                    prop_assert!(INTERNAL.contains(&&*service.call.name) && !self.no_tools);
                    prop_assert!(is_object(&service.call.arguments));
                    self.hidden.push(service.call.id.clone());
                }
                Action::Say(say) => self.said(say)?,
                Action::Stop(stopped) => {
                    prop_assert!(last);
                    prop_assert_eq!(after, &Turn::Stopped(stopped.clone()));
                }
            }
        }
        let ended = matches!(after, Turn::Finished | Turn::Stopped(_));
        prop_assert_eq!(after.deadline().is_none(), ended);
        Ok(())
    }

    fn said(&mut self, say: &Say) -> Checked {
        names_no_internal(&serde_json::to_string(say).expect("JSON"))?;
        prop_assert_eq!(self.opened, !matches!(say, Say::Opened { .. }), "{:?}", say);
        self.opened = true;
        match say {
            Say::CallHead { index, id, name } => {
                prop_assert_eq!(*index, self.begun.len());
                self.begun.push((id.clone(), name.clone(), String::new()));
            }
            Say::CallArguments { index, piece } => self.begun[*index].2.push_str(piece.body()),
            _ => {}
        }
        Ok(())
    }

    fn answered(&mut self, answered: &Answered, after: &Turn, last: bool) -> Checked {
        prop_assert!(last);
        names_no_internal(&serde_json::to_string(answered).expect("JSON"))?;
        let handed_back = !answered.calls.is_empty();
        prop_assert_eq!(handed_back, answered.finish.as_str() == "tool_calls");
        prop_assert_eq!(handed_back, matches!(after, Turn::HandedBack(_)));
        prop_assert_eq!(!handed_back, matches!(after, Turn::Finished));
        for call in &answered.calls {
            prop_assert!(EXTERNAL.contains(&&*call.name) && !self.no_tools);
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            prop_assert!((1..=40).contains(&call.id.len()) && call.id.chars().all(plain));
            prop_assert!(!self.handed_back.contains(&call.id), "{} twice", call.id);
            prop_assert!(!self.hidden.contains(&call.id), "{} is hidden", call.id);
            self.handed_back.push(call.id.clone());
            let json = Raw::parse(&call.arguments);
            prop_assert!(json.is_ok(), "{:?}", call);
            prop_assert!(is_object(&call.arguments) || self.policy == ArgumentPolicy::Pass);
        }
        if handed_back {
            prop_assert!(self.begun.len() <= answered.calls.len());
            for ((id, name, body), call) in self.begun.iter().zip(&answered.calls) {
                let arguments: String =
                    serde_json::from_str(&format!("\"{body}\"")).expect("a JSON string");
                prop_assert_eq!(
                    (id, name, &*arguments),
                    (&call.id, &call.name, &*call.arguments)
                );
            }
        }
        Ok(())
    }
}

/// Whatever the caller is told, no name of a service tool is in it.
fn names_no_internal(text: &str) -> Checked {
    prop_assert!(!INTERNAL.iter().any(|name| text.contains(name)), "{text}");
    Ok(())
}

/// Lives a life; calls `step` for the opening and for each input.
fn live(setup: Setup, events: &[Event], step: &mut Step<'_>) -> Checked {
    let mut actions = Vec::new();
    let mut turn = Turn::open(setup, &mut actions);
    step(&turn, None, &actions, &turn)?;
    let mut world = World::default();
    for event in events {
        for input in world.inputs(event, &turn) {
            actions.clear();
            let next = turn.clone().handle(input.clone(), &mut actions);
            step(&turn, Some(&input), &actions, &next)?;
            world.observe(&input, &actions, &next);
            turn = next;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1200))]

    #[test]
    fn no_sequence_of_inputs_breaks_the_rules(
        setup in setup(),
        events in proptest::collection::vec(event(), 0..16),
    ) {
        let mut witness = Witness::new(&setup);
        live(setup, &events, &mut |before, input, actions, after| {
            if matches!(before, Turn::Finished | Turn::Stopped(_)) {
                prop_assert_eq!((before, actions), (after, &[][..]));
            }
            witness.check(before, input, actions, after)
        })?;
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_fails_names_no_tool_of_a_service(
        setup in setup(),
        events in proptest::collection::vec(event(), 0..6),
    ) {
        // Where no service has such a name, it is only a word that the model made up.
        let offered = setup.catalogue.names(Offer::All);
        let hidden: Vec<&str> = INTERNAL.into_iter().filter(|name| offered.contains(name)).collect();
        live(setup.clone(), &events, &mut |_, _, actions, _| {
            actions.iter().try_for_each(|action| match action {
                Action::Stop(stopped) => {
                    let text = stopped.to_string();
                    prop_assert!(!hidden.iter().any(|name| text.contains(name)), "{text}");
                    Ok(())
                }
                _ => Ok(()),
            })
        })?;
    }

    /// Each step taken from the stored turn equals the step taken without storing it; so does,
    /// step by step, every life that is resumed at any point.
    #[test]
    fn a_turn_that_was_stored_goes_on_as_if_it_was_not(
        setup in setup(),
        events in proptest::collection::vec(event(), 0..16),
    ) {
        live(setup, &events, &mut |before, input, actions, after| {
            let text = serde_json::to_string(&Snapshot::of(before.clone())).expect("JSON");
            let read: Snapshot = serde_json::from_str(&text).expect("a snapshot");
            prop_assert_eq!(&read.turn, before);
            if let Some(input) = input {
                let mut again = Vec::new();
                let next = read.turn.handle(input.clone(), &mut again);
                prop_assert_eq!((&*again, &next), (actions, after));
            }
            Ok(())
        })?;
    }
}
