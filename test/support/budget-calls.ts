/** Calls of those whom budgets cover. */
import { Schema } from "effect"
import { Budgets } from "../../src/protocol/control/budget.ts"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { answering, hello } from "../../src/testing/index.ts"

export type Headers = Record<string, string | undefined>

export const nobody: Headers = { "x-svc-key-id": undefined, "x-svc-key": undefined }
export const asLogin = (accessToken: string): Headers => ({ ...nobody, authorization: `Bearer ${accessToken}` })

export const decodeBudgets = Schema.decodeUnknownSync(Budgets, { onExcessProperty: "error" })
const decodeToken = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))

/** An exchange costs 0.006 and 1,200 tokens; it holds 0.00756 and 520 tokens. */
export const priced = answering({ words: ["x"], inTokens: 1000, outTokens: 200 })

export const budgetCalls = (gateway: () => TestGateway) => ({
  exchange: (headers: Headers = {}, more: object = {}) =>
    gateway().call("POST", "/t1/exchange", { ...hello, params: { promptTokensEstimate: 20 }, ...more }, headers),
  /** The headers of the end user `ada`. */
  endUser: async (): Promise<Headers> => {
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })
    return { ...nobody, "x-svc-app-token": decodeToken(await minted.json()).token }
  },
})
