/** Engines of the catalogue, with their secrets, identities and networks. */
import { Redacted } from "effect"
import { identityOfVendor } from "../../cloud-identities/vendor-identity.ts"
import type { NetworkFields } from "../../protocol/catalogue/network.ts"
import type { Moderation } from "../../protocol/catalogue/policy.ts"
import type { PolicyEngine } from "../../protocol/catalogue/policy-engine.ts"
import type { AwsAccess, AzureAccess } from "../../protocol/catalogue/vendor.ts"
import { isWebhookSecret, unreadableSecret } from "../../protocol/control/webhook.ts"
import { readNetwork } from "../../upstream/network.ts"
import { azureContentSafety } from "./azure-content-safety.ts"
import { bedrockGuardrail } from "./bedrock-guardrail.ts"
import type { Access, Engine } from "./engine.ts"
import { lakera } from "./lakera.ts"
import { type GuardTarget, model } from "./model.ts"
import { modelArmor } from "./model-armor.ts"
import { moderation } from "./moderation.ts"
import { presidio } from "./presidio.ts"
import { webhook } from "./webhook.ts"

export interface Resolvers {
  /** The secret at a reference. */
  readonly secret: (ref: string) => string | undefined
  /** The targets of a model of the catalogue. */
  readonly targets: (handle: string) => ReadonlyArray<GuardTarget>
}

export interface ReadyEngine {
  readonly engine: Engine
  /** The reason why it cannot be called, in a sentence without secrets. */
  readonly problem: string | undefined
}

export const engineOf = (entry: PolicyEngine, resolvers: Resolvers): ReadyEngine => {
  if (entry.kind === "model") return { engine: model(entry, resolvers.targets), problem: undefined }
  const { access, problem } = accessOf(accountOf(entry), resolvers)
  return { engine: make(entry, access), problem }
}

export const moderationOf = (entry: Moderation, resolvers: Pick<Resolvers, "secret">): ReadyEngine => {
  const { access, problem } = accessOf(entry, resolvers)
  return { engine: moderation(entry, access), problem }
}

const make = (entry: Exclude<PolicyEngine, { readonly kind: "model" }>, access: Access): Engine => {
  switch (entry.kind) {
    case "presidio":
      return presidio(entry, access)
    case "bedrock-guardrail":
      return bedrockGuardrail(entry, access)
    case "azure-content-safety":
      return azureContentSafety(entry, access)
    case "model-armor":
      return modelArmor(entry, access)
    case "lakera":
      return lakera(entry, access)
    case "webhook":
      return webhook(entry, access)
  }
}

/** The credential, identity and network of an entry, in the form that vendors have. */
export interface Account extends NetworkFields {
  readonly credential?: string | undefined
  readonly aws?: AwsAccess | undefined
  readonly azure?: AzureAccess | undefined
  readonly google?: { readonly credentials: string } | undefined
  readonly signs?: boolean
  /** The secret before the credential, which signs too. */
  readonly former?: string | undefined
}

export const accountOf = (entry: PolicyEngine): Account => {
  if (entry.kind === "model") return {}
  if (entry.kind === "webhook") return { ...entry, credential: entry.secret, signs: true, former: entry.formerSecret }
  if (entry.kind === "model-armor") return { ...entry, google: { credentials: entry.credentials } }
  return entry
}

const accessOf = (account: Account, { secret: resolve }: Pick<Resolvers, "secret">) => {
  const { credential, aws, azure, google, signs = false, former } = account
  const secret = credential === undefined ? undefined : resolve(credential)
  const identity = credential === undefined ? identityOfVendor({ aws, azure, google }, resolve) : undefined
  const network = readNetwork(account, resolve)
  const before = former === undefined ? undefined : resolve(former)
  const access: Access = {
    secret: secret === undefined ? undefined : Redacted.make(secret),
    // One that cannot be used must not stop the new one.
    formerSecret: before === undefined || !isWebhookSecret(before) ? undefined : Redacted.make(before),
    identity,
    network,
  }
  const needsIdentity = credential === undefined && [aws, azure, google].some((way) => way !== undefined)
  if (credential !== undefined && secret === undefined) {
    return { access, problem: `there is no credential at ${credential}` }
  }
  if (signs && secret !== undefined && !isWebhookSecret(secret)) return { access, problem: unreadableSecret }
  if (needsIdentity && identity === undefined) return { access, problem: "a secret of its identity is not set here" }
  return { access, problem: undefined }
}
