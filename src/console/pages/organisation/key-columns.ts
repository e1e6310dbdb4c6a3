/** Columns of tables of keys: of one organisation, and of all. */
import { html } from "htm/preact"
import type { KeyList, KeyRotated } from "../../../protocol/control/admin-directory.ts"
import { call } from "../../api.ts"
import { ActionButton, Secret, type Values } from "../../ui/form.ts"
import { Named } from "../../ui/identifier.ts"
import { Tag } from "../../ui/parts.ts"
import { Ago, Time } from "../../ui/time.ts"
import { LimitsButton } from "./limits-button.ts"
import { oneOf } from "./tenant-urls.ts"

export type Key = KeyList["data"][number]

export const keyColumns = {
  key: { name: "Key", show: ({ id, name }: Key) => html`<${Named} id=${id} name=${name} />` },
  application: {
    name: "Application",
    show: ({ appId, appName }: Key) => html`<span class="wrap">${appName ?? appId}</span>`,
  },
  status: {
    name: "Status",
    show: ({ status }: Key) => html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
  },
  created: {
    name: "Created",
    show: ({ createdAt, expiresAt }: Key) =>
      html`<${Time} at=${createdAt} />${expiresAt !== undefined && html`<br /><small class="soft">until <${Time} at=${expiresAt} /></small>`}`,
  },
  lastUsed: {
    name: "Last used",
    align: "nowrap" as const,
    show: ({ lastUsedAt }: Key) => (lastUsedAt === undefined ? "never" : html`<${Ago} at=${lastUsedAt} />`),
  },
  /** @param acts the actions for a key */
  actions: ({ change, rotate, revoke }: KeyActs) => ({
    name: "Actions",
    show: (key: Key) => {
      const { id, name, status, origin } = key
      if (status === "revoked") return false
      return html`<span class="row">
        ${
          origin === "admin" &&
          html`<${ActionButton} name="Rename" title="Rename ${name ?? id}" tone="quiet" confirm="Save" fields=${[{ name: "name", label: "Name", value: name ?? "", isOptional: true }]} act=${({ name: chosen }: Values) => change(id, { name: chosen || null })} />
          <${LimitsButton} name=${name ?? id} limits=${key} save=${(body: object) => change(id, body)} />`
        }
        <${ActionButton} name="Rotate" title="Give ${name ?? id} a new secret" tone="quiet" confirm="Rotate" fields=${graceFields} act=${({ graceS }: Values) => rotate(id, Number(graceS))} />
        <${ActionButton} name="Revoke" title="Revoke ${name ?? id}?" tone="danger" explain="Calls with it are refused within two seconds. This cannot be undone." act=${() => revoke(id)} />
      </span>`
    },
  }),
}

/** The actions of keys. */
export interface KeyActs {
  readonly change: (id: string, body: object) => Promise<unknown>
  readonly rotate: (id: string, graceS: number) => Promise<unknown>
  readonly revoke: (id: string) => Promise<unknown>
}

const graceFields = [
  {
    name: "graceS",
    label: "The former secret works for",
    value: "86400",
    options: [
      ["0", "no time"],
      ["3600", "an hour"],
      ["86400", "a day"],
      ["604800", "a week"],
    ] as const,
  },
]

/** The actions at one list of keys. @param list the route @param reload called after each change */
export const keyActs = (list: string, reload: () => void): KeyActs => {
  const then = async <A>(asked: Promise<A>): Promise<A> => {
    const answer = await asked
    reload()
    return answer
  }
  return {
    change: (id, body) => then(call("PATCH", oneOf(list, id), { body })),
    rotate: async (id, graceS) => {
      // The same request id for each attempt: if an answer is lost, the former secret stays the former one.
      const body = { graceS, requestId: crypto.randomUUID() }
      const { key } = await then(call<KeyRotated>("POST", oneOf(list, id, "rotate"), { body }))
      return html`<${Secret} title="The new secret of ${id}" secret=${key} />`
    },
    revoke: (id) => then(call("POST", oneOf(list, id, "revoke"))),
  }
}
