#ifndef DOCKET_SERVICES_LOG_STORE_MIGRATE_H_
#define DOCKET_SERVICES_LOG_STORE_MIGRATE_H_

#include <string>

#include "absl/status/status.h"

namespace docket::log {

// Brings the database to this program's schema, in one transaction, and creates the shards of a new log. Safe to run
// again and at the same time as others. FAILED_PRECONDITION: the database has steps that this program does not know or
// knows otherwise, or another number of shards, which never changes. STORE_UNAVAILABLE: it cannot be reached or
// refuses.
absl::Status Migrate(const std::string& connection_string, int shard_count);

// OK if the database has exactly this program's schema. FAILED_PRECONDITION: it has another, or none.
absl::Status CheckSchema(const std::string& connection_string);

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_STORE_MIGRATE_H_
