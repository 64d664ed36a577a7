# answers.sh HOST PORT PATH: whether a GET is answered 200. By bash alone, which every image has:
# a client started for each look would cost more than the process that is looked at.
exec 3<>"/dev/tcp/$1/$2" && printf 'GET %s HTTP/1.0\r\n\r\n' "$3" >&3 && read -r -u 3 _ code _ && [ "$code" = 200 ]
