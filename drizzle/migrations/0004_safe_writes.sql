-- Versions of records, for conditional requests, and the keys of requests that must take effect once.
--
-- The defaults are also for servers of the release before, which write during a rollout and know no versions. A constant
-- default rewrites no table.

CREATE TABLE "idempotency_keys" (
	"hash" text collate "C" PRIMARY KEY NOT NULL,
	"fingerprint" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"status" integer DEFAULT 0 NOT NULL,
	"location" text collate "C",
	"version" integer,
	"body" text collate "C" DEFAULT '' NOT NULL
);
--> statement-breakpoint
ALTER TABLE "posts" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "version" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");