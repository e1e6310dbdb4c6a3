/** The request for a session to a vendor with OpenAI's Realtime API. Source: OpenAI API reference, "Realtime". */
import type { RealtimeDialect } from "../realtime-dialect.ts"
import { faultBy } from "../vendor/faults.ts"

const common: Omit<RealtimeDialect, "path"> = {
  api: "openai",
  modelName: (model) => model,
  // Its sessions begin with the upgrade, which is refused by a status.
  closedEarly: () => faultBy({ codes: {} }, { status: 502, codes: [] }),
}

export const openaiRealtime: RealtimeDialect = {
  ...common,
  path: (model) => `/realtime?model=${encodeURIComponent(model)}`,
}

/** Source: Azure OpenAI, "How to use the Realtime API via WebSockets": a preview names the deployment. */
export const azureRealtime = (apiVersion: string | undefined): RealtimeDialect => ({
  ...common,
  path: (model) =>
    apiVersion === undefined
      ? `/openai/v1/realtime?model=${encodeURIComponent(model)}`
      : `/openai/realtime?api-version=${apiVersion}&deployment=${encodeURIComponent(model)}`,
})
