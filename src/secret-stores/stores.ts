/** The stores of secrets that references of a catalogue may name. */
import type { WeirConfig } from "../config.ts"
import type { StoredSecret, StoreName } from "../protocol/values/secret-ref.ts"
import { currentSecret } from "../secret-files.ts"
import { readAws } from "./aws.ts"
import { readAzure } from "./azure.ts"
import { readGoogle } from "./google.ts"
import type { Client, ReadSecret } from "./store.ts"
import { readVault, type VaultLogin } from "./vault.ts"

type Settings = Pick<
  WeirConfig["Service"],
  "vault" | "vaultLogin" | "awsSecrets" | "googleSecretsUrl" | "azureVaultUrl"
>

/** Reads the text of a secret. */
export const readSecretBy = (client: Client, settings: Settings) => {
  const { vault, awsSecrets, googleSecretsUrl, azureVaultUrl } = settings
  const readers: Readonly<Record<StoreName, ReadSecret>> = {
    vault: readVault(client, {
      ...vault,
      token: vault.token === undefined ? () => undefined : currentSecret("VAULT_TOKEN", vault.token),
      login: loginOf(settings),
    }),
    "aws-sm": readAws(client, awsSecrets),
    "gcp-sm": readGoogle(client, googleSecretsUrl),
    "azure-kv": readAzure(client, azureVaultUrl),
  }
  return ({ store, name }: StoredSecret) => readers[store](name)
}

const loginOf = ({ vaultLogin: { role, jwtFile, roleId, secretId, mount } }: Settings): VaultLogin | undefined => {
  if (role !== undefined) return { mount: mount ?? "kubernetes", as: { role, jwtFile } }
  if (roleId === undefined) return undefined
  return {
    mount: mount ?? "approle",
    as: {
      roleId,
      secretId: secretId === undefined ? () => undefined : currentSecret("SVC_VAULT_SECRET_ID", secretId),
    },
  }
}
