/**
 * Shapes for drafts: a catalogue's text that is not applied yet, entries to add to it, and the models that vendors offer for
 * it.
 */
import { Schema } from "effect"
import { Model } from "../catalogue/model.ts"
import { Plan } from "../catalogue/plan.ts"
import { PriceEntry } from "../catalogue/price.ts"
import { AwsAccess, AzureAccess, DialectName, GoogleAccess, Vendor, VendorProfile } from "../catalogue/vendor.ts"
import { Webhook } from "../catalogue/webhook.ts"
import { ApplyRequest } from "./admin.ts"

/** A catalogue's text; empty if there is none yet. */
export const DraftText = ApplyRequest.fields.text

const list = <S extends Schema.Constraint>(item: S) =>
  Schema.optionalKey(Schema.Array(item).check(Schema.isMaxLength(1000)))

/** Entries as the text has them: durations stay as they were written. */
export const DraftEntries = Schema.Struct({
  vendors: list(Schema.toEncoded(Vendor)),
  models: list(Schema.toEncoded(Model)),
  prices: list(Schema.toEncoded(PriceEntry)),
  plans: list(Schema.toEncoded(Plan)),
  webhooks: list(Schema.toEncoded(Webhook)),
}).annotate({ identifier: "DraftEntries" })
export type DraftEntries = typeof DraftEntries.Type

export const DraftRequest = Schema.Struct({ text: DraftText, add: DraftEntries }).annotate({
  identifier: "DraftRequest",
})

/** The text with its new entries; everything else in it stays as it was. */
export const Draft = Schema.Struct({
  text: Schema.String,
  /** The new lines. */
  added: Schema.Array(Schema.String),
  /** The names in the text that entries can refer to. */
  vendors: Schema.Array(Schema.String),
  models: Schema.Array(Schema.String),
}).annotate({ identifier: "Draft" })
export type Draft = typeof Draft.Type

/** A vendor that is known by its name. */
export const KnownVendors = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      dialect: DialectName,
      profile: Schema.optionalKey(VendorProfile),
      baseUrl: Schema.String,
      /** The reference of its API key, at which the gateway looks for one; absent if its cloud has an identity for it. */
      credential: Schema.optionalKey(Schema.String),
      aws: Schema.optionalKey(AwsAccess),
      google: Schema.optionalKey(GoogleAccess),
      azure: Schema.optionalKey(AzureAccess),
      /** Whether there is a key, or an identity. */
      hasKey: Schema.Boolean,
    }),
  ),
}).annotate({ identifier: "KnownVendors" })
export type KnownVendors = typeof KnownVendors.Type

/** A percentage with at most two decimals. */
export const percentage = /^(\d{1,4})(?:\.(\d{1,2}))?%$/

export const OffersRequest = Schema.Struct({
  text: DraftText,
  /** The text of LiteLLM's `model_prices_and_context_window.json`. */
  prices: Schema.optionalKey(DraftText),
  /** The vendor as the price file calls it; not needed for a vendor that is known. */
  provider: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(64))),
  /** The markup on the vendor's prices. */
  markup: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(percentage, { expected: "a percentage, such as 10%" })),
  ),
}).annotate({ identifier: "OffersRequest" })

/** A model of a vendor, as it would be in the catalogue. */
export const Offer = Schema.Struct({
  /** The vendor's own name for it. */
  model: Schema.String,
  handle: Schema.String,
  /** Absent if the catalogue has it. */
  entry: Schema.optionalKey(Schema.toEncoded(Model)),
  price: Schema.toEncoded(PriceEntry),
  /** The former price, if there is one. */
  before: Schema.optionalKey(Schema.toEncoded(PriceEntry)),
  /** Facts about its price in the price file that the catalogue cannot express. */
  left: Schema.Array(Schema.String),
}).annotate({ identifier: "Offer" })
export type Offer = typeof Offer.Type

export const VendorOffers = Schema.Struct({
  /** Models that the vendor lists. */
  listed: Schema.Int,
  /** The reason why the vendor's list could not be read; the price file's models are offered instead. */
  problem: Schema.NullOr(Schema.String),
  offers: Schema.Array(Offer),
  /** Models that the vendor lists and that have no price. */
  unpriced: Schema.Array(Schema.String),
}).annotate({ identifier: "VendorOffers" })
export type VendorOffers = typeof VendorOffers.Type
