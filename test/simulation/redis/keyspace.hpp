// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::simulation
{

/** Strings, lists and hashes with expiry, in numbered databases. An expired key is gone for every reader. Copied as a
 * whole: what a failover goes back to. */
class Keyspace
{
public:
    static constexpr std::int64_t no_expiry = -1;
    static constexpr std::size_t databases = 16;

    /// the fields in the order in which they came: that of small hashes
    using Hash = std::vector<std::pair<std::string, std::string>>;

    struct Entry {
        std::string value;
        /// on the server's clock, in milliseconds
        std::int64_t expires = no_expiry;
        /// of a list, which has no value: there are no empty lists
        std::deque<std::string> list = {};
        /// of a hash, which has no value either: there are no empty hashes
        Hash hash = {};

        [[nodiscard]] bool is_list() const noexcept { return !list.empty(); }
        [[nodiscard]] bool is_hash() const noexcept { return !hash.empty(); }
        [[nodiscard]] bool is_string() const noexcept { return !is_list() && !is_hash(); }
    };

    /** Null: no such key. */
    [[nodiscard]] Entry* find(std::size_t database, std::string_view key, std::int64_t now)
    {
        auto& keys = keys_.at(database);
        auto const found = keys.find(key);
        if (found == keys.end())
            return nullptr;
        if (found->second.expires != no_expiry && now > found->second.expires) {
            keys.erase(found);
            return nullptr;
        }
        return &found->second;
    }
    Entry& set(std::size_t database, std::string_view key, Entry entry)
    {
        return keys_.at(database).insert_or_assign(std::string(key), std::move(entry)).first->second;
    }
    void erase(std::size_t database, std::string_view key)
    {
        auto& keys = keys_.at(database);
        if (auto const found = keys.find(key); found != keys.end())
            keys.erase(found);
    }
    void clear()
    {
        for (auto& keys : keys_)
            keys.clear();
    }

private:
    std::array<std::map<std::string, Entry, std::less<>>, databases> keys_;
};

} // namespace tenure::simulation
