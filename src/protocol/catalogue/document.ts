/** The catalogue: the operators' declarative configuration in one YAML file. */
import { Schema } from "effect"
import { NonNegative } from "../values/bounds.ts"
import { Budget } from "./budget.ts"
import { Export } from "./export.ts"
import { Files } from "./files.ts"
import { Model } from "./model.ts"
import { PassThrough } from "./pass-through.ts"
import { Plan } from "./plan.ts"
import { Policy } from "./policy.ts"
import { PriceEntry } from "./price.ts"
import { SearchProvider } from "./search-provider.ts"
import { App, Key, Org, Team, User } from "./tenant.ts"
import { TimeoutsOfPlace } from "./timeouts.ts"
import { ToolServer } from "./tool-server.ts"
import { Id } from "./values.ts"
import { Vendor } from "./vendor.ts"
import { Webhook } from "./webhook.ts"

/** A top-up. Credited once, however often the file is applied. */
export const Topup = Schema.Struct({ id: Id, org: Id, amount: NonNegative })

const list = <S extends Schema.Constraint>(item: S) => Schema.optionalKey(Schema.Array(item))

export const CatalogueDocument = Schema.Struct({
  version: Schema.Literal(1),
  timeouts: Schema.optionalKey(TimeoutsOfPlace),
  vendors: list(Vendor),
  models: list(Model),
  prices: list(PriceEntry),
  /** Key paths of settings that clients consume, also as `prefix.*`; `site.*` and `mode.localProviders` always are. */
  deliverableSettings: list(
    Schema.String.check(
      Schema.isPattern(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:\.\*)?$/, { expected: "a key path, or prefix.*" }),
    ),
  ),
  searchProviders: list(SearchProvider),
  defaultSearchProvider: Schema.optionalKey(Id),
  plans: list(Plan),
  policies: list(Policy),
  orgs: list(Org),
  users: list(User),
  teams: list(Team),
  apps: list(App),
  keys: list(Key),
  budgets: list(Budget),
  webhooks: list(Webhook),
  exports: list(Export),
  /** Routes of vendors that have no dialect. */
  passThrough: list(PassThrough),
  /** Servers of tools. */
  toolServers: list(ToolServer),
  files: Schema.optionalKey(Files),
  topups: list(Topup),
}).annotate({ identifier: "Catalogue" })
export type CatalogueDocument = typeof CatalogueDocument.Type
export type CatalogueEncoded = typeof CatalogueDocument.Encoded

const {
  orgs: _orgs,
  users: _users,
  teams: _teams,
  apps: _apps,
  keys: _keys,
  topups: _topups,
  ...platform
} = CatalogueDocument.fields

/** The part of a catalogue that every node keeps in memory: without tenants, their keys and their top-ups. */
export const PlatformDocument = Schema.Struct(platform)
export type PlatformDocument = typeof PlatformDocument.Type
