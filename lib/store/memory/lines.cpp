// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "lines.hpp"

#include <algorithm>
#include <chrono>

namespace tenure::memory
{

namespace
{

constexpr std::size_t most_stores = 1024;
constexpr std::chrono::seconds lifetime{60};

} // namespace

std::map<Lines::Key, Lines::Line>::iterator Lines::find(KeyRange const& range, Instant now)
{
    auto const found = lines_.find({range.prefix, range.numbered});
    if (found == lines_.end() || found->second.lapses > now)
        return found;
    lines_.erase(found);
    return lines_.end();
}

void Lines::join(KeyRange const& range, StoreName store, bool in_front, Instant now)
{
    auto found = find(range, now);
    if (found == lines_.end())
        found = lines_.try_emplace({range.prefix, range.numbered}).first;
    auto& [stores, lapses] = found->second;
    lapses = now + lifetime;
    if (stores.size() >= most_stores || std::ranges::find(stores, store) != stores.end())
        return;
    if (in_front)
        stores.push_front(store);
    else
        stores.push_back(store);
}

void Lines::leave(KeyRange const& range, StoreName store)
{
    auto const found = lines_.find({range.prefix, range.numbered});
    if (found == lines_.end())
        return;
    std::erase(found->second.stores, store);
    if (found->second.stores.empty())
        lines_.erase(found);
}

std::vector<StoreName> Lines::name_first(KeyRange const& range, std::size_t count, Instant now)
{
    auto const found = find(range, now);
    if (found == lines_.end())
        return {};
    auto& stores = found->second.stores;
    auto const end = stores.begin() + static_cast<std::ptrdiff_t>(std::min(count, stores.size()));
    std::vector<StoreName> named(stores.begin(), end);
    stores.erase(stores.begin(), end);
    if (stores.empty())
        lines_.erase(found);
    return named;
}

} // namespace tenure::memory
