// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages of the gateway: writers of requests, and parsers of replies.
#include "messages.hpp"

#include "base64.hpp"
#include "json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace tenure::etcd
{

// -- requests --

namespace
{

/// `"name":"text"`; the text needs no escapes
std::string field(std::string_view name, std::string_view text)
{
    std::string result("\"");
    return result.append(name).append("\":\"").append(text).append("\"");
}

std::string bytes_field(std::string_view name, std::string_view bytes)
{
    return field(name, to_base64(bytes));
}

template <class Number>
std::string number_field(std::string_view name, Number number)
{
    return field(name, std::to_string(number));
}

/// appends an object to a list
void add(std::string& list, std::string const& fields)
{
    list.append(list.empty() ? "{" : ",{").append(fields).append("}");
}

} // namespace

std::string range_body(Keys const& keys, RangeOptions options)
{
    auto text = '{' + bytes_field("key", keys.key);
    if (!keys.end.empty())
        text += ',' + bytes_field("range_end", keys.end);
    if (!keys.end.empty() && options.limit != 0)
        text += ',' + number_field("limit", options.limit);
    if (options.keys_only)
        text += ",\"keys_only\":true";
    if (!keys.end.empty() && options.by_creation)
        text += R"(,"sort_target":"CREATE","sort_order":"ASCEND")";
    return text + '}';
}

// The gateway parses JSON slowly, so comparisons omit defaults: "target":"VERSION", "result":"EQUAL" and "version":"0".

Transaction& Transaction::if_absent(std::string_view key)
{
    add(compare_, bytes_field("key", key));
    return *this;
}

Transaction& Transaction::if_created_at(std::string_view key, std::uint64_t revision)
{
    add(compare_, bytes_field("key", key) + ",\"target\":\"CREATE\"," + number_field("create_revision", revision));
    return *this;
}

Transaction& Transaction::if_modified_at(std::string_view key, std::uint64_t revision)
{
    add(compare_, bytes_field("key", key) + ",\"target\":\"MOD\"," + number_field("mod_revision", revision));
    return *this;
}

Transaction& Transaction::if_value(std::string_view key, std::string_view value)
{
    add(compare_, bytes_field("key", key) + ",\"target\":\"VALUE\"," + bytes_field("value", value));
    return *this;
}

Transaction& Transaction::if_none(Keys const& keys)
{
    add(compare_, bytes_field("key", keys.key) + ',' + bytes_field("range_end", keys.end));
    return *this;
}

Transaction& Transaction::if_none_put_after(Keys const& keys, std::uint64_t revision)
{
    add(compare_, bytes_field("key", keys.key) + ',' + bytes_field("range_end", keys.end) +
                      R"(,"target":"MOD","result":"LESS",)" + number_field("mod_revision", revision + 1));
    return *this;
}

Transaction& Transaction::then_put(std::string_view key, std::string_view value, LeaseId lease)
{
    auto fields = bytes_field("key", key) + ',' + bytes_field("value", value);
    if (lease != 0)
        fields += ',' + number_field("lease", lease);
    add(success_, "\"request_put\":{" + fields + '}');
    return *this;
}

Transaction& Transaction::then_put_in_its_lease(std::string_view key, std::string_view value)
{
    add(success_,
        "\"request_put\":{" + bytes_field("key", key) + ',' + bytes_field("value", value) + ",\"ignore_lease\":true}");
    return *this;
}

Transaction& Transaction::then_delete(std::string_view key)
{
    add(success_, "\"request_delete_range\":{" + bytes_field("key", key) + '}');
    return *this;
}

Transaction& Transaction::then_read(Keys const& keys, RangeOptions options)
{
    add(success_, "\"request_range\":" + range_body(keys, options));
    return *this;
}

Transaction& Transaction::else_read(Keys const& keys, RangeOptions options)
{
    add(failure_, "\"request_range\":" + range_body(keys, options));
    return *this;
}

std::string Transaction::body() const
{
    std::string text;
    text.reserve(64 + compare_.size() + success_.size() + failure_.size());
    for (auto const& [name, list] :
         {std::pair("\"compare\":[", &compare_), {"\"success\":[", &success_}, {"\"failure\":[", &failure_}}) {
        if (list->empty())
            continue;
        text += text.empty() ? '{' : ',';
        text += name;
        text += *list;
        text += ']';
    }
    return text.empty() ? "{}" : text += '}';
}

std::string grant_body(LeaseId id, std::int64_t seconds)
{
    return '{' + number_field("TTL", seconds) + ',' + number_field("ID", id) + '}';
}

std::string lease_body(LeaseId id)
{
    return '{' + number_field("ID", id) + '}';
}

std::string authenticate_body(std::string const& user, std::string const& password)
{
    // user and password are the only foreign texts that are not base64
    return "{\"name\":" + json::serialize(json::string(user)) +
           ",\"password\":" + json::serialize(json::string(password)) + '}';
}

std::string watch_body(std::int64_t watch_id, Keys const& keys, std::uint64_t from_revision)
{
    auto text = "{\"create_request\":{" + bytes_field("key", keys.key);
    if (!keys.end.empty())
        text += ',' + bytes_field("range_end", keys.end);
    return text + ",\"filters\":[\"NOPUT\"]," + number_field("watch_id", watch_id) + ',' +
           number_field("start_revision", from_revision) + "}}";
}

// -- replies --

namespace
{

constexpr std::size_t deepest = 16;

/** A reply as a tree, whose nodes lie in one block of memory if it is large enough. */
class Tree
{
public:
    explicit Tree(std::string_view text)
    {
        json::parse_options options;
        options.max_depth = deepest;
        boost::system::error_code error;
        value_ = json::parse(text, error, &nodes_, options);
        if (!error)
            object_ = value_.if_object();
    }
    Tree(Tree const&) = delete;
    Tree& operator=(Tree const&) = delete;
    ~Tree() = default;

    /** False if the reply is not an object. */
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
    [[nodiscard]] json::object const& operator*() const noexcept { return *object_; }
    [[nodiscard]] json::object const* operator->() const noexcept { return object_; }

    /** Enters "result", which contains the replies of a streaming method. */
    void enter_result() noexcept
    {
        if (object_ == nullptr)
            return;
        if (auto const* const result = object_->if_contains("result"))
            object_ = result->if_object();
    }

private:
    std::array<unsigned char, 4096> block_;
    json::monotonic_resource nodes_{block_.data(), block_.size()};
    json::value value_ = json::value(json::storage_ptr(&nodes_));
    json::object const* object_ = nullptr;
};

/// 0 if it is omitted, as in protocol buffers
template <class Number>
bool number(json::object const& object, char const* name, Number& result)
{
    result = 0;
    auto const* const value = object.if_contains(name);
    if (value == nullptr)
        return true;
    if (value->is_string()) {
        std::string_view const text = value->as_string();
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
        return !text.empty() && error == std::errc{} && end == text.data() + text.size();
    }
    boost::system::error_code error;
    result = value->to_number<Number>(error);
    return !error;
}

/// false if it is omitted
bool flag(json::object const& object, char const* name)
{
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_bool() && value->as_bool();
}

std::string text(json::object const& object, char const* name)
{
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

bool bytes(json::object const& object, char const* name, std::string& result)
{
    auto decoded = from_base64(text(object, name));
    if (decoded)
        result = std::move(*decoded);
    return decoded.has_value();
}

bool header(json::object const& object, Header& result)
{
    auto const* const value = object.if_contains("header");
    if (value == nullptr || !value->is_object())
        return false;
    auto const& fields = value->get_object();
    return number(fields, "revision", result.revision) && number(fields, "raft_term", result.raft_term);
}

/// null: omitted
json::array const* list(json::object const& object, char const* name)
{
    auto const* const value = object.if_contains(name);
    return value != nullptr ? value->if_array() : nullptr;
}

bool key_value(json::value const& value, KeyValue& result)
{
    if (!value.is_object())
        return false;
    auto const& object = value.get_object();
    return bytes(object, "key", result.key) && bytes(object, "value", result.value) &&
           number(object, "create_revision", result.create_revision) &&
           number(object, "mod_revision", result.mod_revision) && number(object, "lease", result.lease);
}

bool range(json::object const& object, RangeReply& result)
{
    result.more = flag(object, "more");
    auto const* const found = list(object, "kvs");
    if (found == nullptr)
        return !object.contains("kvs");
    for (auto const& value : *found)
        if (!key_value(value, result.found.emplace_back()))
            return false;
    return true;
}

} // namespace

std::optional<RangeReply> parse_range(std::string_view body)
{
    Tree const tree(body);
    RangeReply reply;
    if (!tree || !header(*tree, reply.header) || !range(*tree, reply))
        return std::nullopt;
    return reply;
}

std::optional<TransactionReply> parse_transaction(std::string_view body)
{
    Tree const tree(body);
    TransactionReply reply;
    if (!tree || !header(*tree, reply.header))
        return std::nullopt;
    reply.succeeded = flag(*tree, "succeeded");
    auto const* const responses = list(*tree, "responses");
    if (responses == nullptr)
        return reply;
    for (auto const& response : *responses) {
        if (!response.is_object())
            return std::nullopt;
        auto const* const read_reply = response.get_object().if_contains("response_range");
        if (read_reply == nullptr)
            continue;
        if (!read_reply->is_object() || !range(read_reply->get_object(), reply.reads.emplace_back()))
            return std::nullopt;
    }
    return reply;
}

std::optional<LeaseReply> parse_lease(std::string_view body)
{
    Tree tree(body);
    tree.enter_result();
    LeaseReply reply;
    if (!tree || !header(*tree, reply.header) || !number(*tree, "ID", reply.id) || !number(*tree, "TTL", reply.ttl) ||
        !number(*tree, "grantedTTL", reply.granted_ttl))
        return std::nullopt;
    return reply;
}

std::vector<LeaseReply> parse_leases(std::string_view body)
{
    std::vector<LeaseReply> replies;
    while (!body.empty()) {
        auto const end = std::min(body.find('\n'), body.size());
        auto const reply = parse_lease(body.substr(0, end));
        if (!reply)
            break;
        replies.push_back(*reply);
        body.remove_prefix(std::min(end + 1, body.size()));
    }
    return replies;
}

std::optional<std::string> parse_token(std::string_view body)
{
    Tree const tree(body);
    if (!tree)
        return std::nullopt;
    auto token = text(*tree, "token");
    // it becomes a line of a header
    if (token.empty() || token.find_first_of("\r\n") != std::string::npos)
        return std::nullopt;
    return token;
}

std::optional<WatchReply> parse_watch(std::string_view line)
{
    Tree tree(line);
    tree.enter_result();
    if (!tree)
        return std::nullopt;
    auto const& object = *tree;
    WatchReply reply;
    if (object.contains("error")) {
        reply.failed = true;
        return reply;
    }
    if (!header(object, reply.header) || !number(object, "watch_id", reply.watch_id) ||
        !number(object, "compact_revision", reply.compacted_before))
        return std::nullopt;
    reply.created = flag(object, "created");
    reply.cancelled = flag(object, "canceled");
    reply.cancel_reason = text(object, "cancel_reason");
    auto const* const events = list(object, "events");
    for (std::size_t i = 0; events != nullptr && i < events->size(); ++i) {
        auto const* const event = (*events)[i].if_object();
        auto const* const key = event != nullptr ? event->if_contains("kv") : nullptr;
        if (key == nullptr || !key_value(*key, reply.deleted.emplace_back()))
            return std::nullopt;
    }
    return reply;
}

std::optional<StatusReply> parse_status(std::string_view body)
{
    Tree const tree(body);
    StatusReply reply;
    if (!tree || !header(*tree, reply.header) || !number(*tree, "leader", reply.leader))
        return std::nullopt;
    reply.version = text(*tree, "version");
    return reply;
}

std::optional<std::size_t> parse_members(std::string_view body)
{
    Tree const tree(body);
    auto const* const members = tree ? list(*tree, "members") : nullptr;
    if (members == nullptr)
        return std::nullopt;
    return members->size();
}

std::optional<std::vector<std::string>> parse_alarms(std::string_view body)
{
    Tree const tree(body);
    if (!tree)
        return std::nullopt;
    std::vector<std::string> names;
    if (auto const* const alarms = list(*tree, "alarms"))
        for (auto const& alarm : *alarms)
            if (alarm.is_object())
                names.push_back(text(alarm.get_object(), "alarm"));
    return names;
}

} // namespace tenure::etcd
