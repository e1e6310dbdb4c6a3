/** The thread that does one job with a large text: that takes seconds, and streams must not wait. */
import { parentPort, workerData } from "node:worker_threads"
import { Result } from "effect"
import { addToDraft, type Checked, offersForDraft, vendorOfDraft } from "./draft-jobs.ts"
import { type DraftAnswer, type DraftJob, isDraftJob } from "./draft-protocol.ts"

const resultOf = (job: DraftJob): Checked<unknown> => {
  switch (job.kind) {
    case "add":
      return addToDraft(job)
    case "vendor":
      return vendorOfDraft(job)
    case "offers":
      return offersForDraft(job)
  }
}

const data: unknown = workerData
if (isDraftJob(data)) {
  const answer = Result.match(resultOf(data), {
    onFailure: (issues): DraftAnswer<never> => ({ outcome: "refused", issues }),
    onSuccess: (result): DraftAnswer<unknown> => ({ outcome: "done", result }),
  })
  parentPort?.postMessage(answer)
}
