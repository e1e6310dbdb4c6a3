/** Checks beyond the schema: unknown and duplicate names, prices and keys that contradict each other. */

import { Result } from "effect"
import { accessesOfExport } from "../cloud-identities/vendor-identity.ts"
import { dialectOf, hasBatches } from "../dialects/index.ts"
import { isAmountOf } from "../money/budgets/budget.ts"
import { isSanePrice, maxPricePerMillion, maxTierFactor, readPrice } from "../money/pricing.ts"
import { routeProblems } from "../pass-through/route-problems.ts"
import { handleOfRoute } from "../pass-through/routes.ts"
import { enginePriceProblem } from "../policies/engines/engine-price.ts"
import { compilePolicy } from "../policies/policy.ts"
import type { CatalogueDocument } from "../protocol/catalogue/document.ts"
import type { Files } from "../protocol/catalogue/files.ts"
import { isPattern } from "../protocol/catalogue/limits.ts"
import type { PolicyEngine } from "../protocol/catalogue/policy-engine.ts"
import {
  type AwsAccess,
  type AzureAccess,
  ChatProfileName,
  type DialectName,
  type Vendor,
  type VendorProfile,
} from "../protocol/catalogue/vendor.ts"
import { keptKinds } from "../protocol/control/reply-cache.ts"
import { isWithinMoney, mostMoney } from "../protocol/values/bounds.ts"
import { parseNetwork } from "../protocol/values/network.ts"
import { serverProblems } from "../tools/server-problems.ts"
import { addressOf } from "./addresses.ts"
import { lackingPrice } from "./price-of-kind.ts"
import { thresholdProblems } from "./price-thresholds.ts"

/** A location in a document: keys and indexes. */
export type Path = ReadonlyArray<PropertyKey>

export interface Problem {
  readonly path: Path
  readonly message: string
}

export const profilesOf = (dialect: DialectName): ReadonlyArray<VendorProfile> => {
  switch (dialect) {
    case "openai-chat":
      return ChatProfileName.literals
    case "openai-responses":
      return ["azure"]
    case "anthropic":
      return ["vertex", "bedrock", "azure"]
    case "gemini":
      return ["vertex"]
    default:
      return []
  }
}

const awsProblem = (
  name: string,
  { accessKeyId, secretAccessKey, sessionToken, credentials, assumeRole, externalId }: AwsAccess,
  credential: string | undefined,
): string | undefined => {
  if (name !== "bedrock") return `${name} is not called with AWS's identities`
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    return "accessKeyId and secretAccessKey belong together"
  }
  const ways = [accessKeyId, credentials, credential].filter((way) => way !== undefined)
  if (ways.length > 1) return "one of access keys, credentials: default and a credential, not several"
  if (ways.length === 0) return "needs access keys, credentials: default, or a credential"
  if (accessKeyId === undefined && sessionToken !== undefined) return "sessionToken needs accessKeyId"
  if (assumeRole !== undefined && credential !== undefined) return "a role is not assumed with a Bedrock API key"
  return externalId !== undefined && assumeRole === undefined ? "externalId needs assumeRole" : undefined
}

const azureProblem = (
  profile: string | undefined,
  { credentials, tenantId, clientId, clientSecret }: AzureAccess,
  credential: string | undefined,
): string | undefined => {
  if (profile !== "azure" || credential !== undefined) return "is for the profile azure, without a credential"
  if (credentials === "default") {
    return tenantId === undefined && clientSecret === undefined
      ? undefined
      : "credentials: default takes no tenantId and no clientSecret"
  }
  return [tenantId, clientId, clientSecret].includes(undefined)
    ? "needs tenantId, clientId and clientSecret, or credentials: default"
    : undefined
}

/** The problem of an engine's identity. */
const engineProblem = (engine: PolicyEngine): string | undefined => {
  switch (engine.kind) {
    case "bedrock-guardrail":
      return awsProblem("bedrock", engine.aws, engine.credential)
    case "azure-content-safety":
      if (engine.azure !== undefined) return azureProblem("azure", engine.azure, engine.credential)
      return engine.credential === undefined ? "needs a credential, or azure" : undefined
    default:
      return undefined
  }
}

/** The problem of the place of an export or of files: a field that it needs, or one that it does not take. */
const exportProblem = (entry: Files): string | undefined => {
  const { to, region, endpoint, credentials } = entry
  const { aws, google, azure } = accessesOfExport(entry)
  const place = to.slice(0, to.indexOf(":"))
  if (place !== "s3" && region !== undefined) return `${place}: takes no region`
  switch (place) {
    case "s3":
      return aws === undefined ? "s3: needs a region and credentials" : awsProblem("bedrock", aws, undefined)
    case "gs":
      return google === undefined ? "gs: needs credentials: default, or the JSON of a service account" : undefined
    case "az":
      return azure === undefined ? "az: needs credentials" : azureProblem("azure", azure, undefined)
    default:
      if (to === "file://" || to === "file:///") return "file: needs a folder"
      return (credentials ?? endpoint) === undefined ? undefined : "file: takes no endpoint and no credentials"
  }
}

const nameOf = ({ dialect, profile }: Pick<Vendor, "dialect" | "profile">): string =>
  profile === undefined ? `dialect ${dialect}` : `dialect ${dialect} with profile ${profile}`

export const checkReferences = (document: CatalogueDocument): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const vendors = names(document.vendors)
  const models = new Set((document.models ?? []).map(({ handle }) => handle))
  const listable = new Set([...models, ...(document.passThrough ?? []).map(({ id }) => handleOfRoute(id))])
  const plans = names(document.plans)
  const policies = names(document.policies)
  const orgs = names(document.orgs)
  const users = names(document.users)
  const apps = names(document.apps)
  const searchProviders = names(document.searchProviders)

  const known = (set: ReadonlySet<string>, id: string | undefined, what: string, ...path: Path) => {
    if (id !== undefined && !set.has(id)) problems.push({ path, message: `unknown ${what} "${id}"` })
  }
  const knownModels = (list: ReadonlyArray<string> | undefined, ...path: Path) => {
    list?.forEach((handle, at) => {
      if (!isPattern(handle)) known(listable, handle, "model", ...path, "models", at)
    })
  }
  const unique = (section: string, ids: ReadonlyArray<string>, key = "id") => {
    const seen = new Set<string>()
    ids.forEach((id, at) => {
      if (seen.has(id)) problems.push({ path: [section, at, key], message: `"${id}" is defined twice` })
      seen.add(id)
    })
  }

  for (const section of sectionsWithId)
    unique(
      section,
      (document[section] ?? []).map(({ id }) => id),
    )
  unique(
    "models",
    (document.models ?? []).map(({ handle }) => handle),
    "handle",
  )

  document.vendors?.forEach((vendor, v) => {
    const { dialect, profile, apiVersion, aws, google, azure, credential, batch, background, files } = vendor
    if (addressOf(vendor) === undefined) problems.push({ path: ["vendors", v, "baseUrl"], message: "is missing" })

    const fits = profile === undefined || profilesOf(dialect).includes(profile)
    if (!fits) {
      problems.push({ path: ["vendors", v, "profile"], message: `dialect ${dialect} has no profile "${profile}"` })
    }
    if (apiVersion !== undefined && profile !== "azure") {
      problems.push({ path: ["vendors", v, "apiVersion"], message: "only the profile azure has an apiVersion" })
    }
    if (files === "vendor" && !hasFiles(vendor)) {
      const message = "only OpenAI, Anthropic and Gemini, with an API key, keep files"
      problems.push({ path: ["vendors", v, "files"], message })
    }
    if ((google !== undefined) !== (profile === "vertex")) {
      problems.push({ path: ["vendors", v, "google"], message: "the profile vertex needs google, and no other has it" })
    }
    if (google !== undefined && (google.credentials === undefined) === (credential === undefined)) {
      problems.push({ path: ["vendors", v, "google"], message: "needs either credentials, or a token as credential" })
    }
    if (azure !== undefined) {
      const message = azureProblem(profile, azure, credential)
      if (message !== undefined) problems.push({ path: ["vendors", v, "azure"], message })
    }
    if (background === "vendor" && dialect !== "openai-responses") {
      problems.push({ path: ["vendors", v, "background"], message: `${nameOf(vendor)} has no background` })
    }
    if (batch === "vendor" && !hasBatches(vendor)) {
      problems.push({ path: ["vendors", v, "batch"], message: `${nameOf(vendor)} has no batches` })
    }
    if (aws !== undefined) {
      const message = awsProblem(profile ?? dialect, aws, credential)
      if (message !== undefined) problems.push({ path: ["vendors", v, "aws"], message })
    }
  })
  const vendorOf = new Map(document.vendors?.map((vendor) => [vendor.id, vendor]))
  document.models?.forEach(({ kind = "chat", targets, replyCache }, m) => {
    if (replyCache !== undefined && !keptKinds.has(kind)) {
      problems.push({ path: ["models", m, "replyCache"], message: `replies of kind ${kind} are not kept` })
    }
    targets?.forEach(({ vendor: id, batch }, t) => {
      known(vendors, id, "vendor", "models", m, "targets", t, "vendor")
      const vendor = vendorOf.get(id)
      if (vendor !== undefined && dialectOf(vendor)[kind] === undefined) {
        problems.push({ path: ["models", m, "targets", t], message: `dialect ${vendor.dialect} has no ${kind}` })
      }
      if (vendor !== undefined && batch === "vendor" && !hasBatches(vendor, kind)) {
        const message = `${nameOf(vendor)} has no batches of ${kind}`
        problems.push({ path: ["models", m, "targets", t, "batch"], message })
      }
    })
  })
  const kinds = new Map(document.models?.map(({ handle, kind = "chat" }) => [handle, kind]))
  document.prices?.forEach((entry, p) => {
    known(models, entry.model, "model", "prices", p, "model")
    const price = readPrice(entry)
    const kind = kinds.get(entry.model) ?? "chat"
    const needed = price === undefined ? undefined : lackingPrice(kind, price)
    if (needed !== undefined) problems.push({ path: ["prices", p], message: `needs ${needed}` })
    for (const { path, message } of thresholdProblems(entry, kind)) {
      problems.push({ path: ["prices", p, ...path], message })
    }
    if (price === undefined || !isSanePrice(price)) {
      problems.push({
        path: ["prices", p],
        message: `a price is above ${maxPricePerMillion} per million, or the factor of a tier is not between 0 and ${maxTierFactor}`,
      })
    }
  })
  known(searchProviders, document.defaultSearchProvider, "search provider", "defaultSearchProvider")
  document.orgs?.forEach((org, o) => {
    known(plans, org.plan, "plan", "orgs", o, "plan")
    knownModels(org.models, "orgs", o)
    for (const [name, handle] of Object.entries(org.aliases ?? {})) {
      known(models, handle, "model", "orgs", o, "aliases", name)
    }
    org.policies?.forEach((id, at) => {
      known(policies, id, "policy", "orgs", o, "policies", at)
    })
  })
  const trusted = new Map<string, string>()
  document.orgs?.forEach(({ sso }, o) => {
    sso?.trustDomains?.forEach((domain, at) => {
      const issuer = trusted.get(domain) ?? sso.issuer
      trusted.set(domain, issuer)
      if (issuer !== sso.issuer) {
        const path = ["orgs", o, "sso", "trustDomains", at]
        problems.push({ path, message: `"${domain}" is trusted to another provider: ${issuer}` })
      }
    })
  })
  for (const section of ["teams", "users", "apps", "keys"] as const) {
    document[section]?.forEach(({ models: own }, at) => {
      knownModels(own, section, at)
    })
  }
  document.policies?.forEach((policy, at) => {
    const compiled = compilePolicy(policy, () => undefined)
    if (Result.isFailure(compiled)) problems.push({ path: ["policies", at, "match"], message: compiled.failure })
    const unpriced = enginePriceProblem(policy)
    if (unpriced !== undefined) problems.push({ path: ["policies", at, "price"], message: unpriced })
    if (!("engine" in policy.match)) return
    const { engine } = policy.match
    const path = ["policies", at, "match", "engine"]
    const message = engineProblem(engine)
    if (message !== undefined) problems.push({ path, message })
    if (engine.kind !== "model") return
    known(models, engine.model, "model", ...path, "model")
    if ((kinds.get(engine.model) ?? "chat") !== "chat") {
      problems.push({ path: [...path, "model"], message: "a guard model is a model for chat" })
    }
  })
  document.users?.forEach(({ org }, at) => {
    known(orgs, org, "org", "users", at, "org")
  })
  document.teams?.forEach((team, t) => {
    known(orgs, team.org, "org", "teams", t, "org")
    team.members.forEach((id, at) => {
      known(users, id, "user", "teams", t, "members", at)
    })
  })
  document.apps?.forEach((app, a) => {
    app.policies?.forEach((id, at) => {
      known(policies, id, "policy", "apps", a, "policies", at)
    })
    known(orgs, app.org, "org", "apps", a, "org")
    app.ipAllow?.forEach((network, at) => {
      if (parseNetwork(network) === undefined) {
        problems.push({ path: ["apps", a, "ipAllow", at], message: `"${network}" is no address or network` })
      }
    })
  })
  document.keys?.forEach(({ app, policies: own }, at) => {
    known(apps, app, "app", "keys", at, "app")
    own?.forEach((id, p) => {
      known(policies, id, "policy", "keys", at, "policies", p)
    })
  })
  const subjects = { org: orgs, team: names(document.teams), app: apps, key: names(document.keys) }
  document.budgets?.forEach(({ scope, subject, unit, limit }, at) => {
    // People, end users and values of tags may exist without the catalogue.
    if (scope === "org" || scope === "team" || scope === "app" || scope === "key") {
      known(subjects[scope], subject, scope, "budgets", at, "subject")
    }
    if (!isAmountOf(unit, String(limit))) {
      problems.push({ path: ["budgets", at, "limit"], message: `is no amount of ${unit}` })
    }
  })
  document.exports?.forEach((entry, e) => {
    const message = exportProblem(entry)
    if (message !== undefined) problems.push({ path: ["exports", e], message })
  })
  const taken = new Map<string, string>()
  document.passThrough?.forEach((route, at) => {
    for (const method of route.methods) {
      const place = `${method} ${route.vendor} ${route.path.toLowerCase()}`
      const other = taken.get(place)
      taken.set(place, route.id)
      if (other === undefined) continue
      problems.push({ path: ["passThrough", at, "path"], message: `"${other}" has ${method} of this path already` })
    }
    known(vendors, route.vendor, "vendor", "passThrough", at, "vendor")
    for (const { path, message } of routeProblems(route)) {
      problems.push({ path: ["passThrough", at, ...path], message })
    }
  })
  document.toolServers?.forEach((server, at) => {
    for (const { path, message } of serverProblems(server)) {
      problems.push({ path: ["toolServers", at, ...path], message })
    }
  })
  const filesProblem = document.files && exportProblem(document.files)
  if (filesProblem !== undefined) problems.push({ path: ["files"], message: filesProblem })
  // This check is not in the schema, because stored catalogues must stay readable.
  const withinMoney = (amount: string | undefined, ...path: Path) => {
    if (amount !== undefined && !isWithinMoney(amount)) problems.push({ path, message: `is more than ${mostMoney}` })
  }
  document.topups?.forEach(({ org, amount }, at) => {
    known(orgs, org, "org", "topups", at, "org")
    withinMoney(amount, "topups", at, "amount")
  })
  document.orgs?.forEach(({ warnBelow }, at) => {
    withinMoney(warnBelow, "orgs", at, "warnBelow")
  })
  document.searchProviders?.forEach(({ pricePerCall, cost }, at) => {
    withinMoney(pricePerCall, "searchProviders", at, "pricePerCall")
    withinMoney(cost, "searchProviders", at, "cost")
  })
  return problems
}

/** The platform's sections whose entries have an id. */
export const platformSectionsWithId = [
  "vendors",
  "searchProviders",
  "plans",
  "policies",
  "budgets",
  "webhooks",
  "exports",
  "passThrough",
  "toolServers",
] as const

const sectionsWithId = [...platformSectionsWithId, "orgs", "users", "teams", "apps", "keys", "topups"] as const

const names = (items: ReadonlyArray<{ readonly id: string }> | undefined): ReadonlySet<string> =>
  new Set((items ?? []).map(({ id }) => id))

/** Whether a vendor's API has files that the gateway uploads. */
const hasFiles = ({ dialect, profile = "openai", aws, google, azure }: Vendor): boolean =>
  ["openai-chat", "openai-responses", "anthropic", "gemini"].includes(dialect) &&
  profile === "openai" &&
  [aws, google, azure].every((access) => access === undefined)
