#ifndef DOCKET_SERVICES_COMMON_SHA256_H_
#define DOCKET_SERVICES_COMMON_SHA256_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace docket {

// SHA-256 (FIPS 180-4) of `text`: 32 bytes.
std::string Sha256(absl::string_view text);

// SHA-256 of the parts, each preceded by its length, so that ("ab","c") and ("a","bc") differ.
std::string Sha256OfParts(std::initializer_list<absl::string_view> parts);

// The shard that a tenant lives on. `shard_count` is at least 1.
int32_t ShardOf(absl::string_view tenant_id, int32_t shard_count);

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_SHA256_H_
