/** Every kind of engine, with a twin that it is asked at. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { dialectOf } from "../../../src/dialects/index.ts"
import type { GuardTarget } from "../../../src/policies/engines/model.ts"
import { resolveFromMachine } from "../../../src/secrets.ts"
import { testAwsKeys, testWebhookSecret } from "../../../src/testing/index.ts"
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

/** The secrets that a gateway of a test has too. */
const known: Readonly<Record<string, string>> = {
  "env:WEIR_TEST_VENDOR": "vendor-credential",
  "env:WEIR_TEST_AWS_ID": testAwsKeys.accessKeyId,
  "env:WEIR_TEST_AWS_SECRET": testAwsKeys.secretAccessKey,
  "env:WEIR_TEST_WEBHOOK": testWebhookSecret,
}
const key = "vendor-credential"

export interface EngineOfTest {
  readonly kind: string
  readonly twin: EngineTwin
  /** The match of a policy that asks the twin. */
  readonly match: (more?: object) => unknown
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
  const folder = mkdtempSync(join(tmpdir(), "weir-engines-"))
  const account = join(folder, "account.json")
  writeFileSync(account, google.account)
  const rules = {
    presidio: presidioRules,
    "bedrock-guardrail": guardrailRules(testAwsKeys),
    "azure-content-safety": contentSafetyRules((headers) => headers["ocp-apim-subscription-key"] === key),
    "model-armor": armorRules(google.issued),
    lakera: lakeraRules(key),
    model: guardModelRules(key),
    webhook: webhookRules(testWebhookSecret),
    moderation: moderationRules(key),
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
      aws: { region: "eu-west-1", accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" },
    },
    "azure-content-safety": {
      baseUrl: urlOf("azure-content-safety"),
      credential: "env:WEIR_TEST_VENDOR",
      shieldPrompt: true,
    },
    "model-armor": { baseUrl: urlOf("model-armor"), template, credentials: `file:${account}` },
    lakera: { baseUrl: urlOf("lakera"), credential: "env:WEIR_TEST_VENDOR", project: "project_acme" },
    model: { model: "guard" },
    webhook: { url: `${urlOf("webhook")}/judge`, secret: "env:WEIR_TEST_WEBHOOK" },
    moderation: { baseUrl: `${urlOf("moderation")}/v1`, credential: "env:WEIR_TEST_VENDOR" },
  })
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
    resolve: (ref) => (ref.startsWith("file:") ? resolveFromMachine(ref) : known[ref]),
    targets: (handle) => (handle === "guard" ? [targetAt(`${urlOf("model")}/v1`)] : []),
    stop: () => {
      google.stop()
      rmSync(folder, { recursive: true })
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
  credential: Redacted.make(key),
  identity: undefined,
  network: undefined,
  model: "guard-1",
})
