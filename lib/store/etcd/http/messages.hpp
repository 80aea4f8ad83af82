// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages of the gateway that leases need, as text. 64-bit numbers are strings, keys and values are base64, and zero
// or empty fields are omitted.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::etcd
{

/// never 0
using LeaseId = std::int64_t;

// -- requests --

/** The keys [key, end), or one key if `end` is empty. */
struct Keys {
    std::string key;
    std::string end = {};

    friend auto operator<=>(Keys const&, Keys const&) = default;
};

struct RangeOptions {
    /// limit for several keys; 0: no limit
    std::size_t limit = 0;
    bool keys_only = false;
    /// in the order of the revisions that created the keys
    bool by_creation = false;
};

/** Makes a read that a majority confirms. */
[[nodiscard]] std::string range_body(Keys const& keys, RangeOptions options);

/** One transaction: the first branch runs if all comparisons hold, otherwise the second. */
class Transaction
{
public:
    Transaction& if_created_at(std::string_view key, std::uint64_t revision);
    /** Compares the revision of the last change: any later put, even of the same value, fails the comparison. */
    Transaction& if_modified_at(std::string_view key, std::uint64_t revision);
    Transaction& if_absent(std::string_view key);
    Transaction& if_value(std::string_view key, std::string_view value);
    Transaction& if_none(Keys const& keys);
    /** True unless one of the keys was put after this revision. */
    Transaction& if_none_put_after(Keys const& keys, std::uint64_t revision);

    Transaction& then_put(std::string_view key, std::string_view value, LeaseId lease);
    /** Puts a value and keeps the lease of the key. */
    Transaction& then_put_in_its_lease(std::string_view key, std::string_view value);
    Transaction& then_delete(std::string_view key);
    Transaction& then_read(Keys const& keys, RangeOptions options);
    Transaction& else_read(Keys const& keys, RangeOptions options);

    [[nodiscard]] std::string body() const;

private:
    std::string compare_;
    std::string success_;
    std::string failure_;
};

[[nodiscard]] std::string grant_body(LeaseId id, std::int64_t seconds);
/** Body for renewing, revoking and reading a lease. */
[[nodiscard]] std::string lease_body(LeaseId id);
[[nodiscard]] std::string authenticate_body(std::string const& user, std::string const& password);
/** Watches for deletions from a revision on. */
[[nodiscard]] std::string watch_body(std::int64_t watch_id, Keys const& keys, std::uint64_t from_revision);

// -- replies; nullopt: malformed --

struct Header {
    std::uint64_t revision = 0;
    std::uint64_t raft_term = 0;
};

struct KeyValue {
    std::string key;
    /// empty in reads of keys only
    std::string value;
    std::uint64_t create_revision = 0;
    std::uint64_t mod_revision = 0;
    /// 0: no lease
    LeaseId lease = 0;
};

struct RangeReply {
    Header header;
    std::vector<KeyValue> found;
    /// further keys follow after the limit
    bool more = false;
};
[[nodiscard]] std::optional<RangeReply> parse_range(std::string_view body);

struct TransactionReply {
    Header header;
    bool succeeded = false;
    /// of the reads in the branch that ran
    std::vector<RangeReply> reads;
};
[[nodiscard]] std::optional<TransactionReply> parse_transaction(std::string_view body);

/** Reply to the grant, renewal or read of a lease. */
struct LeaseReply {
    Header header;
    LeaseId id = 0;
    /// seconds; 0 or less: the lease does not exist
    std::int64_t ttl = 0;
    /// of a read: the ttl at the grant and after each renewal
    std::int64_t granted_ttl = 0;
};
[[nodiscard]] std::optional<LeaseReply> parse_lease(std::string_view body);
/** The replies of a streaming method, one per line, up to the first line that is not a reply: an error ends the stream.
 */
[[nodiscard]] std::vector<LeaseReply> parse_leases(std::string_view body);

[[nodiscard]] std::optional<std::string> parse_token(std::string_view body);

struct WatchReply {
    Header header;
    std::int64_t watch_id = 0;
    bool created = false;
    bool cancelled = false;
    std::string cancel_reason;
    /// earlier revisions were compacted; 0: the requested revision was not
    std::uint64_t compacted_before = 0;
    /// keys, and the revisions of their deletions
    std::vector<KeyValue> deleted;
    /// an error instead; of the whole stream
    bool failed = false;
};
[[nodiscard]] std::optional<WatchReply> parse_watch(std::string_view line);

struct StatusReply {
    Header header;
    std::string version;
    std::uint64_t leader = 0;
};
[[nodiscard]] std::optional<StatusReply> parse_status(std::string_view body);

/** The number of members of the cluster. */
[[nodiscard]] std::optional<std::size_t> parse_members(std::string_view body);

/** Names of the active alarms: NOSPACE, CORRUPT. */
[[nodiscard]] std::optional<std::vector<std::string>> parse_alarms(std::string_view body);

} // namespace tenure::etcd
