/** Every kind of engine, with a twin that it is asked at. */
import { Redacted } from "effect"
import { dialectOf } from "../../../src/dialects/index.ts"
import type { GuardTarget } from "../../../src/policies/engines/model.ts"
import type { Policy } from "../../../src/protocol/catalogue/policy.ts"
import { startTokenEndpoint, type TokenEndpoint } from "../google-token-endpoint.ts"
import {
  armorRules,
  contentSafetyRules,
  guardModelRules,
  guardrailRules,
  lakeraRules,
  moderationRules,
  presidioRules,
  template,
  webhookRules,
} from "./rules.ts"
import { type EngineTwin, startEngineTwin } from "./twin.ts"

export const secrets = {
  key: "engine-key",
  awsId: "AKIDEXAMPLE",
  awsSecret: "aws-secret-of-tests",
  signing: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
}

export interface EngineOfTest {
  readonly kind: string
  readonly twin: EngineTwin
  /** The match of a policy that asks the twin. */
  readonly match: (more?: object) => unknown
  /** A clean answer, for a text that is clean. */
  readonly isBatched?: boolean
}

export interface EnginesOfTest {
  readonly of: (kind: Kind) => EngineOfTest
  readonly resolve: (ref: string) => string | undefined
  readonly targets: (handle: string) => ReadonlyArray<GuardTarget>
  readonly google: TokenEndpoint
  readonly stop: () => void
}

export const kinds = [
  "presidio",
  "bedrock-guardrail",
  "azure-content-safety",
  "model-armor",
  "lakera",
  "model",
  "webhook",
  "moderation",
] as const
export type Kind = (typeof kinds)[number]

/** Starts a twin for each kind. */
export const startEngines = async (): Promise<EnginesOfTest> => {
  const google = await startTokenEndpoint()
  const aws = { accessKeyId: secrets.awsId, secretAccessKey: secrets.awsSecret }
  const rules = {
    presidio: presidioRules,
    "bedrock-guardrail": guardrailRules(aws),
    "azure-content-safety": contentSafetyRules((headers) => headers["ocp-apim-subscription-key"] === secrets.key),
    "model-armor": armorRules(google.issued),
    lakera: lakeraRules(secrets.key),
    model: guardModelRules(secrets.key),
    webhook: webhookRules(secrets.signing),
    moderation: moderationRules(secrets.key),
  }
  const twins = new Map<Kind, EngineTwin>()
  for (const kind of kinds) twins.set(kind, await startEngineTwin(rules[kind]))
  const twinOf = (kind: Kind): EngineTwin => {
    const twin = twins.get(kind)
    if (twin === undefined) throw new Error("the twin has not started")
    return twin
  }
  const urlOf = (kind: Kind) => twinOf(kind).url
  const entries = (): Record<Kind, object> => ({
    presidio: { baseUrl: urlOf("presidio") },
    "bedrock-guardrail": {
      baseUrl: urlOf("bedrock-guardrail"),
      guardrail: "gr1",
      version: "2",
      aws: { region: "eu-west-1", accessKeyId: "env:AWS_ID", secretAccessKey: "env:AWS_SECRET" },
    },
    "azure-content-safety": { baseUrl: urlOf("azure-content-safety"), credential: "env:KEY", shieldPrompt: true },
    "model-armor": { baseUrl: urlOf("model-armor"), template, credentials: "env:GOOGLE" },
    lakera: { baseUrl: urlOf("lakera"), credential: "env:KEY", project: "project_acme" },
    model: { model: "guard" },
    webhook: { url: `${urlOf("webhook")}/judge`, secret: "env:SIGNING" },
    moderation: { baseUrl: `${urlOf("moderation")}/v1`, credential: "env:KEY" },
  })
  const known: Readonly<Record<string, string>> = {
    "env:KEY": secrets.key,
    "env:AWS_ID": secrets.awsId,
    "env:AWS_SECRET": secrets.awsSecret,
    "env:SIGNING": secrets.signing,
    "env:GOOGLE": google.account,
  }
  return {
    google,
    of: (kind) => ({
      kind,
      twin: twinOf(kind),
      match: (more = {}) => {
        const entry = { ...entries()[kind], ...more }
        return kind === "moderation" ? { moderation: entry } : { engine: { kind, ...entry } }
      },
    }),
    resolve: (ref) => known[ref],
    targets: (handle) => (handle === "guard" ? [targetAt(`${urlOf("model")}/v1`)] : []),
    stop: () => {
      google.stop()
      for (const twin of twins.values()) twin.stop()
    },
  }
}

/** A target at which the guard model is asked, in OpenAI's API. */
export const targetAt = (baseUrl: string, tier = 0): GuardTarget => ({
  key: `guard@${baseUrl}`,
  tier,
  weight: 1,
  vendor: { baseUrl },
  dialect: dialectOf({ dialect: "openai-chat", profile: "vllm" }),
  credential: Redacted.make(secrets.key),
  identity: undefined,
  network: undefined,
  model: "guard-1",
})

export const policyWith = (match: Policy["match"], more: Partial<Policy> = {}): Policy => ({
  id: "guarded",
  direction: "both",
  reason: "flagged",
  match,
  ...more,
})
