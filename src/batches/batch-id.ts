/** Ids of batches, which clients of several APIs write in forms of their own. They sort by time, as those of files do. */
import type { BatchApi } from "./batch.ts"

const forms = { openai: "batch_", anthropic: "msgbatch_", gemini: "batches/" } as const satisfies Record<
  BatchApi,
  string
>

/** The id as an API writes it. */
export const writtenBatchId = (api: BatchApi, id: string): string => forms[api] + id

const idForm = /^[a-z2-7]{26}$/

/** The id of a batch in the form of an API; undefined if it is none of ours. */
export const readBatchId = (api: BatchApi, text: string): string | undefined => {
  const id = text.startsWith(forms[api]) ? text.slice(forms[api].length) : ""
  return idForm.test(id) ? id : undefined
}
