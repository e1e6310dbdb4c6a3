/** The choice of the caller of the playground: the person, an organisation, or a key that is typed. */
import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { OrgList } from "../../../protocol/control/admin-directory.ts"
import type { OrgRecord } from "../../../protocol/control/tenants.ts"
import { get } from "../../api.ts"
import { useModels } from "../../choices.ts"
import { useLoad } from "../../load.ts"
import { useViewer } from "../../viewer.ts"
import { credentialIn } from "./credential.ts"
import { Select } from "./model-select.ts"
import type { PanelProps } from "./panel.ts"

/** The choices, until the page is closed. */
const remembered = { org: "", key: "" }

export interface Caller extends PanelProps {
  readonly org: string
  readonly choose: (org: string) => void
  /** The typed key or token. */
  readonly typed: string
  readonly type: (key: string) => void
  readonly orgs: OrgList["data"]
}

/** The choice of a key that is typed, among the organisations. */
const ownKey = "~"

/** The caller: the person, an organisation that an operator chooses, or a key that is typed. */
export const useCaller = (): Caller => {
  const viewer = useViewer()
  const isOperator = viewer.kind === "operator"
  const [chosen, setOrg] = useState(remembered.org)
  const [key, setKey] = useState(remembered.key)
  const orgs = useLoad("orgs to call as", (signal) =>
    isOperator
      ? get<OrgList>("v1/admin/orgs", { status: "active", limit: "200" }, signal)
      : Promise.resolve({ data: [], nextCursor: null }),
  )
  const known = orgs.data?.data ?? []
  const org = isOperator ? chosen || (known[0]?.id ?? "") : viewer.org
  const isTyped = chosen === ownKey
  remembered.org = chosen
  remembered.key = key
  const allowed = useLoad(`models of ${org} ${isTyped}`, (signal) =>
    isOperator && !isTyped && org !== ""
      ? get<typeof OrgRecord.Type>(`v1/admin/orgs/${encodeURIComponent(org)}`, undefined, signal)
      : Promise.resolve(undefined),
  )
  const all = useModels(viewer)
  const own = allowed.data?.models
  return {
    org: isTyped ? ownKey : org,
    choose: setOrg,
    typed: key,
    type: setKey,
    orgs: known,
    models: own === undefined ? all : all.filter(({ handle }) => own.includes(handle)),
    isReady: isTyped ? key !== "" : org !== "",
    credential: isTyped ? () => Promise.resolve(key) : credentialIn(viewer, org),
  }
}

export const CallerFields = ({ caller: { org, choose, orgs, typed, type } }: { readonly caller: Caller }) => {
  const viewer = useViewer()
  const options =
    viewer.kind === "person"
      ? [[viewer.org, `${viewer.orgName}, as yourself`] as const]
      : orgs.map(({ id, name }) => [id, name] as const)
  return html`
    <${Select} label="Call as" value=${org} choose=${choose} options=${[...options, [ownKey, "a key of your own"]]} />
    ${
      org === ownKey &&
      html`<label>Key, as KEY_ID~SECRET, or a token
        <input type="password" autocomplete="off" value=${typed} onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => type(currentTarget.value.trim())} />
      </label>`
    }`
}
