#include "services/log/store/tail_follower.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <pqxx/notification>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/log/store/postgres_pool.h"
#include "services/log/store/sql_errors.h"

namespace docket::log {
namespace {

constexpr char kChannel[] = "docket_log_committed";
constexpr char kSettings[] = "set statement_timeout = '2s'; set synchronous_commit = off";
constexpr absl::Duration kReconnectAfter = absl::Milliseconds(500);
// A payload has at most 8,000 bytes; more shards than this are left to the probe.
constexpr size_t kMaxNotifiedShards = 1000;

// Hears what other connections say.
class Receiver : public pqxx::notification_receiver {
 public:
  Receiver(pqxx::connection& connection, std::set<ShardId>& hinted)
      : notification_receiver(connection, kChannel), own_(connection.backendpid()), hinted_(hinted) {}

  void operator()(const std::string& payload, int backend) override {
    if (backend == own_) return;
    for (const absl::string_view part : absl::StrSplit(payload, ',')) {
      int32_t shard = 0;
      if (absl::SimpleAtoi(part, &shard)) hinted_.insert(ShardId{shard});
    }
  }

 private:
  const int own_;
  std::set<ShardId>& hinted_;
};

}  // namespace

struct TailFollower::Link {
  Link(const std::string& connection_string, std::set<ShardId>& hinted, bool listen)
      : connection(WithConnectionLimits(connection_string), kSettings) {
    if (listen) receiver = std::make_unique<Receiver>(connection.get(), hinted);
  }
  PostgresConnection connection;
  std::unique_ptr<Receiver> receiver;  // ends before its connection
};

TailFollower::TailFollower(const std::string& connection_string, FeedSet& feeds, Options options)
    : connection_string_(connection_string),
      feeds_(feeds),
      options_(options),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {}

TailFollower::~TailFollower() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
}

void TailFollower::Committed(ShardId shard) {
  {
    MutexLock lock(&mutex_);
    if (!committed_.insert(shard).second) return;  // the thread knows
  }
  eventfd_write(wake_, 1);
}

void TailFollower::Run() {
  absl::Time probe_at = absl::InfinitePast();
  bool probed = true;
  for (;;) {
    absl::Time next = probe_at;
    {
      MutexLock lock(&mutex_);
      if (stopping_) return;
      if (!committed_.empty() && link_ != nullptr) next = std::min(next, notify_at_);
    }
    if (link_ == nullptr) next = std::min(next, connect_at_);
    WaitFor(next - absl::Now());
    try {
      if (link_ == nullptr && absl::Now() >= connect_at_) {
        connect_at_ = absl::Now() + kReconnectAfter;
        link_ = std::make_unique<Link>(connection_string_, hinted_, options_.listen);
        probe_at = absl::InfinitePast();  // what was said meanwhile was not heard
      }
      if (link_ != nullptr) Exchange();
    } catch (const std::exception&) {
      LogWarning("the connection for notifications failed, SQLSTATE ", CurrentSqlError().sqlstate);
      link_.reset();
    }
    const absl::Time now = absl::Now();
    absl::Status status;
    if (now >= probe_at) {
      probe_at = now + options_.probe_every;
      hinted_.clear();
      status = feeds_.Probe();
    } else {
      const std::vector<ShardId> followed = feeds_.Followed();
      for (const ShardId shard : std::exchange(hinted_, {})) {
        if (!std::binary_search(followed.begin(), followed.end(), shard)) continue;
        status.Update(feeds_.CatchUp(shard));
      }
    }
    if (!status.ok() && probed) LogWarning("cannot look for what is new: ", status.message());
    probed = status.ok();
  }
}

void TailFollower::Exchange() {
  std::set<ShardId> committed;
  {
    MutexLock lock(&mutex_);
    if (absl::Now() >= notify_at_) committed.swap(committed_);
  }
  if (!committed.empty()) {
    notify_at_ = absl::Now() + options_.notify_every;
    if (committed.size() <= kMaxNotifiedShards) {
      const std::string shards =
          absl::StrJoin(committed, ",", [](std::string* out, ShardId shard) { absl::StrAppend(out, shard.value); });
      pqxx::nontransaction transaction(link_->connection.get());
      transaction.exec(absl::StrCat("notify ", kChannel, ", '", shards, "'"));
    }
  }
  link_->connection.get().get_notifs();
}

void TailFollower::WaitFor(absl::Duration time) {
  pollfd fds[2] = {{.fd = wake_, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
  if (link_ != nullptr) fds[1].fd = link_->connection.get().sock();
  const int64_t wait = std::clamp<int64_t>(absl::ToInt64Milliseconds(time + absl::Microseconds(999)), 0, 1000);
  poll(fds, 2, static_cast<int>(wait));
  eventfd_t ignored;
  eventfd_read(wake_, &ignored);
}

}  // namespace docket::log
