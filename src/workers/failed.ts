/** The failure of the supervisor. */
import { Data } from "effect"

/** Workers cannot run or could not start; the message contains the reason. */
export class WorkersFailed extends Data.TaggedError("WorkersFailed")<{ readonly message: string }> {}
