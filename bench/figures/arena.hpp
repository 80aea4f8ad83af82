// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "figures/figures.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

/** A store with servers of the bench's own, which are gone with this object. */
class Arena
{
public:
    /** @param fair  this store promises a fair order, so its figures have goals
     *  @param servers  kept alive */
    Arena(std::string name, std::string url, bool fair, std::shared_ptr<void> servers)
        : name_(std::move(name))
        , url_(std::move(url))
        , fair_(fair)
        , servers_(std::move(servers))
    {
    }

    /** As it stands in the names of figures. */
    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    [[nodiscard]] std::string const& url() const noexcept { return url_; }
    [[nodiscard]] bool fair() const noexcept { return fair_; }

private:
    std::string name_;
    std::string url_;
    bool fair_;
    std::shared_ptr<void> servers_;
};

/** How to start each store, one after another: all at once would share the machine. Null where the store is not
 * installed; the report then says so. */
[[nodiscard]] std::vector<std::function<std::unique_ptr<Arena>(Setting const&)>> arenas();

} // namespace bench
