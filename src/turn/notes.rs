//! What the model is told where no tool gave a result. Short JSON that a model understands.

use crate::wire::write::ObjectWriter;

/// The caller moved on without running an external call (contract P3).
pub(super) const NOT_RUN_BY_CALLER: &str =
    "{\"status\":\"not_run\",\"reason\":\"this tool was not run; it may be called again\"}";

/// Another call of the same answer was invalid (contract A6).
pub(super) const NOT_RUN_BESIDE_INVALID: &str = "{\"status\":\"not_run\",\"reason\":\"another call of the same answer was invalid, so none was run; call again\"}";

/// What became of a parked call was never kept, or it never ran.
pub(super) const NOT_KEPT: &str = "{\"status\":\"unknown\",\"reason\":\"the result of this tool is not available any more; it may not have been run\"}";

/// The round limit is reached (contract A7).
pub(super) const ROUND_LIMIT: &str = "{\"status\":\"not_run\",\"reason\":\"the limit of tool rounds for this turn is reached; answer with what is known\"}";

/// The limit of service calls is reached (contract A7).
pub(super) const CALL_LIMIT: &str = "{\"status\":\"not_run\",\"reason\":\"the limit of tool calls for this turn is reached; answer with what is known\"}";

/// A call that failed before it was run.
pub(super) fn failed(reason: &str) -> String {
    let mut out = String::with_capacity(reason.len() + 40);
    let mut object = ObjectWriter::begin(&mut out);
    object.string("status", "failed");
    object.string("reason", reason);
    object.end();
    out
}
