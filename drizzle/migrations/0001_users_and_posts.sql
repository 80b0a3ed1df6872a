-- Users and posts. The tables are new, so nothing below holds a lock for long.
-- All text is collated "C": the order is the same on every server, and an upgrade of the C library corrupts no index.

create table "users" (
	"id" uuid primary key not null, -- UUIDv7, made by the service: the order of ids is the order of creation
	"name" text collate "C" not null,
	"email" text collate "C" not null,
	"created_at" timestamp (3) with time zone not null, -- milliseconds, as the API shows them
	"updated_at" timestamp (3) with time zone not null,
	"version" integer default 1 not null, -- grows by one at each change, for conditional requests
	-- The service refuses these too, with a better message. The constraints hold for every other client of the database.
	constraint "users_name_length" check (char_length("users"."name") between 1 and 200),
	constraint "users_email_length" check (char_length("users"."email") between 3 and 254)
);
create table "posts" (
	"id" uuid primary key not null,
	"title" text collate "C" not null,
	"status" text collate "C" default 'draft' not null,
	"author_id" uuid not null,
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	"version" integer default 1 not null,
	constraint "posts_title_length" check (char_length("posts"."title") between 1 and 500),
	constraint "posts_status_known" check ("posts"."status" in ('draft', 'published')),
	-- No cascade: the service deletes posts explicitly, or refuses to delete their author.
	constraint "posts_author_id_fkey" foreign key ("author_id") references "users" ("id")
);
-- Each filter and each sort has an index that ends in the id, because every list is ordered by the id last.
create index "posts_author_index" on "posts" using btree ("author_id","id");
create index "posts_status_index" on "posts" using btree ("status","id");
create index "posts_title_index" on "posts" using btree ("title","id");
-- Without a list of pending words, which every search would read.
create index "posts_search_index" on "posts" using gin (array_to_tsvector(search_words("title"))) with (fastupdate=false);
-- An address belongs to one user, regardless of case, even under 100 parallel requests.
create unique index "users_email_key" on "users" using btree (lower("email"));
create index "users_name_index" on "users" using btree ("name","id");
-- Keeps exact totals and the start of any page, for all users, for all posts, and for the posts of each status.
select list_watch('users', '{}'), list_watch('posts', '{status}');
