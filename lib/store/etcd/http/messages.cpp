// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "messages.hpp"

#include "base64.hpp"
#include "json.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace tenure::etcd
{

namespace
{

void add_number(std::string& text, std::uint64_t number)
{
    std::array<char, 20> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text.append(digits.data(), end);
}

void add_key(std::string& text, std::string_view key)
{
    text += "\"key\":\"";
    add_base64(text, key);
    text += '"';
}

void add_range(std::string& text, Keys const& keys, RangeOptions options)
{
    text += '{';
    add_key(text, keys.key);
    if (!keys.end.empty()) {
        text += ",\"range_end\":\"";
        add_base64(text, keys.end);
        text += '"';
        if (options.limit != 0) {
            text += ",\"limit\":\"";
            add_number(text, options.limit);
            text += '"';
        }
    }
    if (options.keys_only)
        text += ",\"keys_only\":true";
    text += '}';
}

/// opens another object of the list
void begin_element(std::string& list, std::string_view opening)
{
    if (!list.empty())
        list += ',';
    list += opening;
}

} // namespace

std::string range_body(Keys const& keys, RangeOptions options)
{
    std::string text;
    add_range(text, keys, options);
    return text;
}

// The gateway reads JSON slowly, so what a comparison has by default stays away from it: "target":"VERSION",
// "result":"EQUAL" and "version":"0".

Transaction& Transaction::if_absent(std::string_view key)
{
    begin_element(compare_, "{");
    add_key(compare_, key);
    compare_ += '}';
    return *this;
}

Transaction& Transaction::if_created_at(std::string_view key, std::uint64_t revision)
{
    begin_element(compare_, "{");
    add_key(compare_, key);
    compare_ += ",\"target\":\"CREATE\",\"create_revision\":\"";
    add_number(compare_, revision);
    compare_ += "\"}";
    return *this;
}

Transaction& Transaction::if_modified_at(std::string_view key, std::uint64_t revision)
{
    begin_element(compare_, "{");
    add_key(compare_, key);
    compare_ += ",\"target\":\"MOD\",\"mod_revision\":\"";
    add_number(compare_, revision);
    compare_ += "\"}";
    return *this;
}

Transaction& Transaction::if_value(std::string_view key, std::string_view value)
{
    begin_element(compare_, "{");
    add_key(compare_, key);
    compare_ += ",\"target\":\"VALUE\",\"value\":\"";
    add_base64(compare_, value);
    compare_ += "\"}";
    return *this;
}

Transaction& Transaction::then_put(std::string_view key, std::string_view value, LeaseId lease)
{
    begin_element(success_, "{\"request_put\":{");
    add_key(success_, key);
    success_ += ",\"value\":\"";
    add_base64(success_, value);
    if (lease != 0) {
        success_ += "\",\"lease\":\"";
        add_number(success_, static_cast<std::uint64_t>(lease));
    }
    success_ += "\"}}";
    return *this;
}

Transaction& Transaction::then_put_in_its_lease(std::string_view key, std::string_view value)
{
    begin_element(success_, "{\"request_put\":{");
    add_key(success_, key);
    success_ += ",\"value\":\"";
    add_base64(success_, value);
    success_ += "\",\"ignore_lease\":true}}";
    return *this;
}

Transaction& Transaction::then_delete(std::string_view key)
{
    begin_element(success_, "{\"request_delete_range\":{");
    add_key(success_, key);
    success_ += "}}";
    return *this;
}

Transaction& Transaction::then_read(Keys const& keys, RangeOptions options)
{
    begin_element(success_, "{\"request_range\":");
    add_range(success_, keys, options);
    success_ += '}';
    return *this;
}

Transaction& Transaction::else_read(Keys const& keys, RangeOptions options)
{
    begin_element(failure_, "{\"request_range\":");
    add_range(failure_, keys, options);
    failure_ += '}';
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
    return "{\"TTL\":\"" + std::to_string(seconds) + "\",\"ID\":\"" + std::to_string(id) + "\"}";
}

std::string lease_body(LeaseId id)
{
    return "{\"ID\":\"" + std::to_string(id) + "\"}";
}

std::string authenticate_body(std::string const& user, std::string const& password)
{
    // the only texts of others that are not base64
    return "{\"name\":" + json::serialize(json::string(user)) +
           ",\"password\":" + json::serialize(json::string(password)) + '}';
}

std::string watch_body(std::int64_t watch_id, Keys const& keys, std::uint64_t from_revision)
{
    std::string text = "{\"create_request\":{";
    add_key(text, keys.key);
    if (!keys.end.empty())
        text += ",\"range_end\":\"" + to_base64(keys.end) + '"';
    return text + ",\"filters\":[\"NOPUT\"],\"watch_id\":\"" + std::to_string(watch_id) + "\",\"start_revision\":\"" +
           std::to_string(from_revision) + "\"}}";
}

} // namespace tenure::etcd
