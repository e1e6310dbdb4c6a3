/** The choice of a model of one kind. */
import { html } from "htm/preact"
import { useId } from "preact/hooks"
import type { RealtimeApi } from "../../../protocol/kinds/call-kind.ts"

export interface KnownModel {
  readonly handle: string
  readonly kind: string
  readonly realtimeApi?: RealtimeApi
}

export const ofKind = (models: ReadonlyArray<KnownModel>, kind: string): ReadonlyArray<string> =>
  models.flatMap((model) => (model.kind === kind ? [model.handle] : []))

interface SelectProps {
  readonly label: string
  readonly options: ReadonlyArray<readonly [value: string, name: string]>
  readonly value: string
  readonly choose: (value: string) => void
}

/** A choice beside other fields. */
export const Select = ({ label, options, value, choose }: SelectProps) => {
  const id = useId()
  return html`<div class="field"><label for=${id}>${label}</label>
    <select id=${id} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => choose(currentTarget.value)}>
      ${options.map(([each, name]) => html`<option value=${each} selected=${each === value}>${name}</option>`)}
    </select>
  </div>`
}

/** The choice of a model by its handle. */
export const ModelSelect = ({
  handles,
  ...props
}: Omit<SelectProps, "options"> & { readonly handles: ReadonlyArray<string> }) =>
  html`<${Select} ...${props} options=${handles.length === 0 ? [["", "none of this kind"]] : handles.map((handle) => [handle, handle])} />`
