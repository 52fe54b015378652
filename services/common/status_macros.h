#ifndef DOCKET_SERVICES_COMMON_STATUS_MACROS_H_
#define DOCKET_SERVICES_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The macros of newer Abseil versions, with their meaning: return from the enclosing function when `expr` failed.
#define DOCKET_RETURN_IF_ERROR(expr)                                \
  do {                                                              \
    if (absl::Status docket_status = (expr); !docket_status.ok()) { \
      return docket_status;                                         \
    }                                                               \
  } while (false)

#define DOCKET_CONCAT_INNER(a, b) a##b
#define DOCKET_CONCAT(a, b) DOCKET_CONCAT_INNER(a, b)

// DOCKET_ASSIGN_OR_RETURN(auto x, F()); declares or assigns `x`, or returns F()'s error.
#define DOCKET_ASSIGN_OR_RETURN(lhs, expr) DOCKET_ASSIGN_OR_RETURN_INNER(DOCKET_CONCAT(docket_or_, __LINE__), lhs, expr)
#define DOCKET_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) return std::move(tmp).status();      \
  lhs = *std::move(tmp)

#endif  // DOCKET_SERVICES_COMMON_STATUS_MACROS_H_
