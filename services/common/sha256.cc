#include "services/common/sha256.h"

#include <openssl/evp.h>

#include "services/common/log.h"

namespace docket {

std::string Sha256(absl::string_view text) {
  std::string digest(32, '\0');
  unsigned int size = 0;
  const int done = EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                              EVP_sha256(), nullptr);
  CrashUnless(done == 1 && size == 32, "SHA-256 is not available");
  return digest;
}

std::string Sha256OfParts(std::initializer_list<absl::string_view> parts) {
  std::string joined;
  for (absl::string_view part : parts) {
    const uint64_t size = part.size();
    for (int shift = 56; shift >= 0; shift -= 8) joined.push_back(static_cast<char>(size >> shift));
    joined.append(part.data(), part.size());
  }
  return Sha256(joined);
}

int32_t ShardOf(absl::string_view tenant_id, int32_t shard_count) {
  const std::string digest = Sha256(tenant_id);
  uint64_t head = 0;
  for (int i = 0; i < 8; ++i) head = head << 8 | static_cast<unsigned char>(digest[static_cast<size_t>(i)]);
  return static_cast<int32_t>(head % static_cast<uint64_t>(shard_count));
}

}  // namespace docket
