//! A turn with two owners of tools is the turn of one: for random scripts of a model and random
//! splits of its tools between the agent and its caller, the model is asked exactly what
//! [`one_process`] that owns all of them would have asked, each tool runs once and in order, and
//! the caller learns nothing of what is not its own.
//!
//! A failure shrinks to a short script and is printed as one.

mod one_process;
mod script;
mod world;

use proptest::test_runner::{Config, TestRunner};

use script::scripts;
use world::World;

#[test]
fn the_model_cannot_tell_who_owns_its_tools() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    let world = runtime.block_on(World::start());
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let held = runner.run(&scripts(), |script| runtime.block_on(world.play(&script)));
    if let Err(broken) = held {
        panic!("{broken}");
    }
}
