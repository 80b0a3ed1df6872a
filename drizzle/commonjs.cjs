module.exports = {
  ...require('drizzle-orm'),
  ...require('drizzle-orm/migrator'),
  ...require('drizzle-orm/pg-core'),
  ...require('drizzle-orm/pg-proxy'),
};
