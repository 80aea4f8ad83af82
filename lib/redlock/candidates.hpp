// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace tenure::redlock
{

/** The keys that claims of this process are voting on: another claim of it need not try them too. Belongs to the
 * strand. */
class Candidates
{
public:
    [[nodiscard]] bool contains(std::string_view key) const { return keys_.contains(key); }
    void add(std::string key) { keys_.insert(std::move(key)); }
    void remove(std::string const& key) { keys_.erase(key); }

private:
    std::set<std::string, std::less<>> keys_;
};

} // namespace tenure::redlock
