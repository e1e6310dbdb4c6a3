/** Admin routes for a catalogue's text before it is applied. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Draft, DraftRequest, KnownVendors, OffersRequest, VendorOffers } from "../control/draft.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders } from "./parameters.ts"

export class AdminDrafts extends HttpApiGroup.make("adminDrafts")
  .add(
    HttpApiEndpoint.post("addToDraft", "/v1/admin/catalogue/draft", {
      headers: adminHeaders,
      payload: DraftRequest,
      success: Draft,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Add entries to a catalogue's text",
        description:
          "Nothing is applied or stored: the reply has the new text. Comments and the order of what was there stay. Without entries, the reply lists what the text has.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("knownVendors", "/v1/admin/vendors", {
      headers: adminHeaders,
      success: KnownVendors,
      error: errorsOf([...everywhere, "admin_key_invalid"]),
    }).annotateMerge(OpenApi.annotations({ summary: "List the vendors that are known by name" })),
  )
  .add(
    HttpApiEndpoint.post("vendorOffers", "/v1/admin/vendors/:vendor/offers", {
      headers: adminHeaders,
      params: { vendor: PathId },
      payload: OffersRequest,
      success: VendorOffers,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List models that a vendor in a catalogue's text offers and that the text lacks",
        description:
          "Uses the vendor's own list of models, and exact prices from a price file. If the vendor cannot be asked, `problem` says why.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Catalogue drafts",
      description: "A catalogue's text before it is applied; requires the admin key",
    }),
  ) {}
