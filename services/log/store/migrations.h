#ifndef DOCKET_SERVICES_LOG_STORE_MIGRATIONS_H_
#define DOCKET_SERVICES_LOG_STORE_MIGRATIONS_H_

#include <string>
#include <vector>

namespace docket::log {

// One step of the schema. Never edited after it landed.
struct Migration {
  int version = 0;
  std::string name;
  std::string sql;
};

// All steps of this program, by version: 1, 2, 3 ...
const std::vector<Migration>& Migrations();

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_STORE_MIGRATIONS_H_
