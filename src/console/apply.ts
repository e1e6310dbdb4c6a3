/** Applying a catalogue, with its progress. */
import type { ApplyProgress, ApplyResponse } from "../protocol/control/admin.ts"
import { ApiError, errorFrom, send } from "./api.ts"
import { eventsOf } from "./events.ts"

interface Asked {
  readonly text: string
  readonly dryRun: boolean
  readonly prune: boolean
}

export const applyCatalogue = async (asked: Asked, tell: (progress: ApplyProgress) => void): Promise<ApplyResponse> => {
  const response = await send("POST", "v1/admin/catalogue/events", { body: asked })
  for await (const { name, data } of eventsOf(response.body ?? new ReadableStream())) {
    if (name === "progress") tell(JSON.parse(data))
    if (name === "error") throw errorFrom(400, JSON.parse(data))
    if (name === "result") return JSON.parse(data)
  }
  throw new ApiError(0, "unreachable", "The gateway ended before it was done. Look whether the revision is in force.")
}
