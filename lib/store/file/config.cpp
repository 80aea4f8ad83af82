// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of the file store: parsing, checks, and its name.
#include "backend.hpp"

#include <config/rules.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace tenure::file
{

FileConfig config_from(Url const& url)
{
    if (!url.hosts.empty() || url.user || url.password)
        refuse_url(
            "path", "must begin after a third '/', as in file:///run/tenure/app: files of other machines are no "
                    "store");
    FileConfig config;
    config.directory = url.path;
    UrlOptions options(url);
    options.read("any_filesystem", config.any_filesystem);
    options.refuse_others();
    return config;
}

void check_config(FileConfig const& config)
{
    auto const& path = config.directory;
    constexpr std::size_t longest = 3072; // the names below it fit into PATH_MAX
    bool const usable = path.size() <= longest && path.find('\0') == std::string::npos;
    if (!path.empty() && (path.front() != '/' || !usable))
        refuse_config(
            "FileConfig::directory", path,
            "must be an absolute path of at most 3072 bytes, or empty for the user's own");
}

std::string directory_of(FileConfig const& config)
{
    if (!config.directory.empty())
        return config.directory;
    struct stat found{};
    auto const user = std::to_string(::geteuid());
    bool const packaged = ::stat("/run/tenure", &found) == 0 && S_ISDIR(found.st_mode);
    return packaged ? "/run/tenure/" + user : "/tmp/tenure-" + user;
}

std::string describe(FileConfig const& config)
{
    return schemes::file.prefix() + directory_of(config);
}

} // namespace tenure::file
