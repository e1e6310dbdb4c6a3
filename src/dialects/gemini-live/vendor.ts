/** The request for a session to a vendor with Google's Live API. */
import type { GoogleAccess } from "../../protocol/catalogue/vendor.ts"
import type { RealtimeDialect } from "../realtime-dialect.ts"
import { type FaultTable, faultBy, type VendorFault } from "../vendor/faults.ts"

const gemini = "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
const vertex = "google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"

/** Source: https://ai.google.dev/api/live */
export const geminiLive: RealtimeDialect = {
  api: "google",
  path: () => `/ws/${gemini}`,
  modelName: (model) => `models/${model}`,
  closedEarly: (code, reason) => closedEarly(code, reason),
}

/** Source: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/multimodal-live */
export const vertexLive = ({ project, location }: Pick<GoogleAccess, "project" | "location">): RealtimeDialect => ({
  ...geminiLive,
  path: () => `/ws/${vertex}`,
  modelName: (model) => `projects/${project}/locations/${location}/publishers/google/models/${model}`,
})

/** Google accepts every upgrade, and closes the socket with a reason: the same texts as in its other replies. */
const closedEarly = (code: number, reason: string): VendorFault =>
  faultBy(table, { status: statuses[code] ?? 503, codes: [`close_${code}`], text: reason })

const table: FaultTable = {
  codes: {},
  texts: [
    [/api key (not valid|expired|not found)|unregistered callers|authentication credential/i, "credential"],
    [/exceeded your current quota|billing/i, "credit"],
    [/user location is not supported/i, "region"],
    [/not found for api version|is not supported for bidi|publisher model/i, "model"],
    [/permission/i, "permission"],
  ],
}

/** The status of a closing code: an invalid message, a policy, the service. */
const statuses: Readonly<Record<number, number>> = { 1007: 400, 1008: 400, 1011: 503 }
