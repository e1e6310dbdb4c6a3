/** The buttons for an application or a team: edit, disable or enable, delete. */
import { html } from "htm/preact"
import type { SentRate } from "../../../protocol/values/rate-text.ts"
import { nameOf } from "../../choices.ts"
import { ActionButton, type Field, type Values } from "../../ui/form.ts"

import { LimitsButton } from "./limits-button.ts"

type Act = (values: Values) => Promise<unknown>

export interface TenantActionsProps {
  readonly tenant: {
    readonly id: string
    readonly name?: string
    readonly status: string
    /** Whether the catalogue's file has it: then only the file changes it. */
    readonly declared: boolean
    readonly models?: ReadonlyArray<string>
    readonly rates?: ReadonlyArray<SentRate>
    readonly tools?: ReadonlyArray<string>
  }
  readonly fields: ReadonlyArray<Field>
  readonly edit: Act
  /** Saves its limits. */
  readonly limit: (body: object) => Promise<unknown>
  readonly setStatus: (status: "active" | "disabled") => Act
  readonly remove: Act
  /** The effects of disabling and of deleting, as sentences. */
  readonly whenDisabled: string
  readonly whenDeleted: string
}

export const TenantActions = ({
  tenant,
  fields,
  edit,
  limit,
  setStatus,
  remove,
  whenDisabled,
  whenDeleted,
}: TenantActionsProps) => {
  if (tenant.declared) return html`<span class="soft">declared by the catalogue</span>`
  const name = nameOf(tenant)
  return html`<span class="row">
    <${ActionButton} name="Edit" title="Edit ${name}" tone="quiet" confirm="Save" fields=${fields} act=${edit} />
    <${LimitsButton} name=${name} limits=${tenant} save=${limit} />
    ${
      tenant.status === "active"
        ? html`<${ActionButton} name="Disable" title="Disable ${name}?" tone="quiet" explain=${whenDisabled} act=${setStatus("disabled")} />`
        : html`<${ActionButton} name="Enable" title="Enable ${name}?" tone="quiet" act=${setStatus("active")} />`
    }
    <${ActionButton} name="Delete" title="Delete ${name}?" tone="danger" explain=${whenDeleted} act=${remove} />
  </span>`
}
