/** A test call to a vendor of a text that is not applied, and its result. */
import { html } from "htm/preact"
import type { VendorCheckResponse } from "../../../protocol/control/admin.ts"
import { call } from "../../api.ts"
import { Facts } from "../../ui/parts.ts"

/** @param model its own name of a model; the first one that the text has if empty */
export const testVendor = (text: string, vendor: string, model: string): Promise<VendorCheckResponse> =>
  call<VendorCheckResponse>("POST", `v1/admin/vendors/${encodeURIComponent(vendor)}/test`, {
    body: { text, ...(model !== "" && { model }) },
  })

export const VendorTest = ({
  outcome: { vendor, model, ok, millis, text, error },
}: {
  readonly outcome: VendorCheckResponse
}) => html`<h2>${vendor} ${ok ? "works" : "does not work"}</h2>
  <${Facts} facts=${[
    ["Model", model],
    ["After", `${millis} ms`],
    error === undefined ? ["Answer", text] : ["Error", `${error.message} (${error.code})`],
    ...(error?.advice === undefined ? [] : [["Advice", error.advice]]),
  ]} />`
