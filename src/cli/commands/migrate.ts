/** `weir migrate`: applies missing migrations and exits. */
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { WeirConfig } from "../../config.ts"
import { layerDatabase } from "../../store/database.ts"

const migratingConfig = Layer.effect(
  WeirConfig,
  Effect.map(WeirConfig, (config) => ({ ...config, migrates: true })),
).pipe(Layer.provide(WeirConfig.layer))

export const migrate = Command.make("migrate", {}, () =>
  Effect.scoped(Layer.build(layerDatabase)).pipe(
    Effect.andThen(Console.log("The database is up to date")),
    Effect.provide(migratingConfig),
  ),
)
