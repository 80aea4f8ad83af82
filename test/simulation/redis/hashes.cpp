// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Commands on hashes: the places of a key.
#include "hashes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenure::simulation
{

namespace
{

using Hash = Keyspace::Hash;

Reply value_of(Hash const& hash, std::string const& field)
{
    auto const found = std::ranges::find(hash, field, &Hash::value_type::first);
    return found == hash.end() ? Reply::null() : Reply::bulk(found->second);
}

/** Number of fields that are new. */
std::int64_t set(Hash& hash, std::vector<std::string> const& words)
{
    auto const before = std::ssize(hash);
    for (std::size_t at = 2; at + 1 < words.size(); at += 2) {
        auto const found = std::ranges::find(hash, words[at], &Hash::value_type::first);
        if (found == hash.end())
            hash.emplace_back(words[at], words[at + 1]);
        else
            found->second = words[at + 1];
    }
    return std::ssize(hash) - before;
}

} // namespace

Reply run_on_hash(std::vector<std::string> const& words, Keyspace::Entry* entry)
{
    Hash none;
    auto& hash = entry != nullptr ? entry->hash : none;
    auto const& name = words.front();
    if (name == "HGET")
        return value_of(hash, words[2]);
    if (name == "HLEN")
        return Reply::integer(std::ssize(hash));
    if (name == "HSET")
        return Reply::integer(set(hash, words));
    if (name == "HDEL") {
        auto const first = words.begin() + 2;
        return Reply::integer(static_cast<std::int64_t>(std::erase_if(
            hash, [&](auto const& field) { return std::find(first, words.end(), field.first) != words.end(); })));
    }
    bool const all = name == "HGETALL";
    auto fields = Reply::list(all ? Reply::Kind::map : Reply::Kind::array, {});
    for (auto field = words.begin() + 2; field != words.end(); ++field)
        fields.elements.push_back(value_of(hash, *field));
    for (auto const& [field, value] : all ? hash : none) {
        fields.elements.push_back(Reply::bulk(field));
        fields.elements.push_back(Reply::bulk(value));
    }
    return fields;
}

} // namespace tenure::simulation
