/** Columns of tables of keys: of one organisation, and of all. */
import { html } from "htm/preact"
import type { KeyList } from "../../../protocol/control/admin-directory.ts"
import { ActionButton } from "../../ui/form.ts"
import { Named } from "../../ui/identifier.ts"
import { Tag } from "../../ui/parts.ts"
import { Time } from "../../ui/time.ts"

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
    align: "nowrap" as const,
    show: ({ createdAt }: Key) => html`<${Time} at=${createdAt} />`,
  },
  expires: {
    name: "Expires",
    align: "nowrap" as const,
    show: ({ expiresAt }: Key) => (expiresAt === undefined ? "never" : html`<${Time} at=${expiresAt} />`),
  },
  /** @param revoke the action for the key with this id */
  actions: (revoke: (id: string) => () => Promise<void>) => ({
    name: "Actions",
    show: ({ id, name, status }: Key) =>
      status === "active" &&
      html`<${ActionButton} name="Revoke" title="Revoke ${name ?? id}?" tone="danger" explain="Calls with it are refused within two seconds. This cannot be undone." act=${revoke(id)} />`,
  }),
}
