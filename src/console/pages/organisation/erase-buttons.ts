/** Erases what an organisation's clients keep: one of a list, those to which filters apply, or all. */
import { html } from "htm/preact"
import type { OwnerFields } from "../../../protocol/control/owner.ts"
import { call } from "../../api.ts"
import { ActionButton, type Field, type Values } from "../../ui/form.ts"

/** @returns a function that makes the action of a button, for the address of one of a list, or of the whole list */
export const eraseAt = (reload: () => void) => (path: string) => async (filter: Values) => {
  const given = Object.entries(filter).filter(([, value]) => value !== "")
  await call("DELETE", given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`)
  reload()
}

/** The buttons above a list: all is erased only with the organisation's id. */
export const EraseButtons = ({
  org,
  things,
  names,
  explain,
  erase,
}: {
  readonly org: string
  /** The entries of the list, e.g. "files". */
  readonly things: string
  readonly names: { readonly some: string; readonly all: string }
  readonly explain: string
  readonly erase: (filter: Values) => Promise<void>
}) => {
  const eraseAll = async ({ name }: Values) => {
    if (name !== org) throw new Error("This is not the id of the organisation.")
    await erase({ all: "true" })
  }
  const eraseSome = async (filter: Values) => {
    if (Object.values(filter).every((value) => value === "")) throw new Error("Fill in at least one field.")
    await erase(filter)
  }
  return html`<${ActionButton} name=${names.some} title="Erase the ${things} to which all of these apply" tone="danger" confirm="Erase" act=${eraseSome} fields=${filterFields} explain=${explain} />
    <${ActionButton} name=${names.all} title="Erase all ${things} of ${org}?" tone="danger" confirm="Erase all" act=${eraseAll} fields=${[{ name: "name", label: "The organisation's id", hint: `Type ${org}.` }]} explain=${explain} />`
}

export const ownerCell = ({ app, person, endUser }: OwnerFields) =>
  html`<span class="wrap">${[app ?? person, endUser].filter((part) => part !== undefined).join(" / ")}</span>`

const filterFields: ReadonlyArray<Field> = [
  { name: "app", label: "Application", isOptional: true, hint: "Its id." },
  { name: "endUser", label: "End user", isOptional: true, hint: "The id that the application gave." },
  { name: "before", label: "Made before", type: "date", isOptional: true },
]
